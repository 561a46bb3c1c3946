// How a group chooses what a step's sum is made by: the ring, or the library of collectives on its members' devices
// (P-18b). By manifests alone: they say of each member, in the order's own epoch, what it could do.
//
// A kept communicator is taken where all members of the sum hold it and it has no others; otherwise a new one is made,
// named by the order's epoch. After a sum by a communicator that came to nothing the next sums go over the ring: one,
// then two, up to kRingSumsMax; and after one by a new communicator all of them, until kRingTimes as long has passed as
// it took. So a library that does not work, or whose communicators never come together, costs a run little. A new
// communicator may stand still for twice as long as the last one that came to nothing, up to kPatienceGrowth times the
// first patience: to make a large one may take longer than that. Members that offer nothing say why, where the run
// wishes for a library: the sentence for people names what they say. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "messages/ids.h"
#include "messages/values/collective_offer.h"
#include "runtime/base/clock.h"

namespace shoal {

inline constexpr std::uint32_t kRingSumsMax = 64;
inline constexpr int kRingTimes = 50;  // two percent of a run's time for tries in vain
inline constexpr int kPatienceGrowth = 8;

struct SumChoice {
  std::optional<Epoch> communicator;  // none: the ring
  std::string reason;                 // for people; none where no member offers anything or says why it does not
};

// By member of the sum, as their manifests have it; none: it sums by its connections alone.
using CollectiveOffers = std::map<Incarnation, std::optional<CollectiveOffer>>;

class CollectiveChoice {
 public:
  // A member says why it offers nothing; kept as long as it is one.
  void hear_lack(Incarnation member, const std::string& why) { lacks_[member] = why; }
  template <class IsMember>
  void keep_members(IsMember is_member) {
    std::erase_if(lacks_, [&](const auto& said) { return !is_member(said.first); });
  }
  [[nodiscard]] std::size_t lacks() const { return lacks_.size(); }
  [[nodiscard]] SumChoice choose(const Epoch& order, const CollectiveOffers& offers, Instant now);
  // How the sum ended that was chosen for last, and how long it took; one over the ring changes nothing.
  void came_to_nothing(Instant now, Duration took);
  void came_whole();
  // Says whether the last choice was a communicator.
  [[nodiscard]] bool is_collective() const { return made_by_ != MadeBy::kRing; }
  // Says whether it was a new one.
  [[nodiscard]] bool is_new() const { return made_by_ == MadeBy::kNew; }
  // How long a sum by a new communicator may stand still. first: while none has come to nothing.
  [[nodiscard]] Duration patience(Duration first) const;

 private:
  enum class MadeBy : std::uint8_t { kRing, kKept, kNew };  // by a communicator: a kept or a new one

  [[nodiscard]] SumChoice weigh(const Epoch& order, const CollectiveOffers& offers, Instant now);
  // Nothing: all of them can sum on devices of their own, with one library.
  [[nodiscard]] std::optional<std::string> lack_of(const CollectiveOffers& offers) const;
  // Returns what all of them say, or what the first one lacks that offers nothing.
  [[nodiscard]] std::string lack_of_offers(const CollectiveOffers& offers) const;

  std::map<Incarnation, std::string> lacks_;  // by members (S-6)
  MadeBy made_by_ = MadeBy::kRing;            // the last sum
  std::uint32_t pause_ = 0;                   // sums that the last failure gave to the ring
  std::uint32_t ring_sums_ = 0;               // of them still to come
  Instant ring_until_{};                      // all sums before it go over the ring
  Duration in_vain_{};                        // what the last new communicator took that came to nothing
};

}  // namespace shoal
