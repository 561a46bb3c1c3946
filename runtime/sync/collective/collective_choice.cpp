// The first thing that is lacking is the reason.
#include "runtime/sync/collective/collective_choice.h"

#include <algorithm>
#include <string>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

[[nodiscard]] bool hold_the_same(const CollectiveOffers& offers) {
  const CollectiveOffer& first = *offers.begin()->second;
  return first.communicator != Epoch{} && first.size == offers.size() &&
         std::ranges::all_of(offers,
                             [&first](const auto& entry) { return entry.second->communicator == first.communicator; });
}

}  // namespace

// Without the number of a replica where all say the same: another one in its place is no news then.
std::string CollectiveChoice::lack_of_offers(const CollectiveOffers& offers) const {
  const auto first = std::ranges::find_if(offers, [](const auto& entry) { return !entry.second; });
  const auto said = lacks_.find(first->first);
  if (said == lacks_.end()) return compose("replica ", first->first, " sums by its connections alone");
  const bool is_common = std::ranges::all_of(offers, [&](const auto& entry) {
    const auto own = lacks_.find(entry.first);
    return !entry.second && own != lacks_.end() && own->second == said->second;
  });
  return is_common ? said->second : compose("replica ", first->first, ": ", said->second);
}

// Names a lack of one member before what two of them cannot do with each other.
std::optional<std::string> CollectiveChoice::lack_of(const CollectiveOffers& offers) const {
  if (std::ranges::any_of(offers, [](const auto& entry) { return !entry.second; })) return lack_of_offers(offers);
  const auto& [first_member, first] = *offers.begin();
  std::map<std::string, Incarnation> devices;
  for (const auto& [member, offer] : offers) {
    if (offer->library != first->library) {
      return compose("replica ", member, " has ", offer->library, ", and replica ", first_member, " ", first->library);
    }
    const auto [other, is_own] = devices.emplace(offer->device, member);
    if (!is_own) return compose("replicas ", other->second, " and ", member, " share one device");
  }
  return std::nullopt;
}

SumChoice CollectiveChoice::choose(const Epoch& order, const CollectiveOffers& offers, Instant now) {
  SumChoice chosen = weigh(order, offers, now);
  made_by_ = !chosen.communicator ? MadeBy::kRing : *chosen.communicator == order ? MadeBy::kNew : MadeBy::kKept;
  return chosen;
}

SumChoice CollectiveChoice::weigh(const Epoch& order, const CollectiveOffers& offers, Instant now) {
  const bool is_wanted = std::ranges::any_of(
      offers, [this](const auto& entry) { return entry.second.has_value() || lacks_.contains(entry.first); });
  if (!is_wanted) return {};
  if (const auto lack = lack_of(offers)) return {std::nullopt, compose("sums go over the ring: ", *lack)};
  const CollectiveOffer& offer = *offers.begin()->second;
  const bool is_counted = ring_sums_ > 0;
  if (is_counted) --ring_sums_;
  if (is_counted || now < ring_until_) {
    return {std::nullopt,
            compose("sums go over the ring for a while: the last one by ", offer.library, " came to nothing")};
  }
  return {hold_the_same(offers) ? offer.communicator : order, compose("sums are made by ", offer.library)};
}

void CollectiveChoice::came_to_nothing(Instant now, Duration took) {
  if (!is_collective()) return;
  pause_ = std::clamp(2 * pause_, 1U, kRingSumsMax);
  ring_sums_ = pause_;
  if (!is_new()) return;
  ring_until_ = now + kRingTimes * took;
  in_vain_ = took;
}

// What a communicator once needed it may need again: the patience stays.
void CollectiveChoice::came_whole() {
  if (is_collective()) pause_ = 0;
}

Duration CollectiveChoice::patience(Duration first) const {
  return std::clamp<Duration>(2 * in_vain_, first, kPatienceGrowth * first);
}

}  // namespace shoal
