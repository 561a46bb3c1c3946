// A pair is one entry, whoever of the two complains.
#include "runtime/cluster/watch/complaints.h"

#include <algorithm>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/base/text/open_port.h"

namespace shoal {
namespace {

const Party* find(const std::vector<Party>& parties, ProcessIncarnation process) {
  const auto found =
      std::find_if(parties.begin(), parties.end(), [process](const Party& party) { return party.process == process; });
  return found == parties.end() ? nullptr : &*found;
}

bool must_talk(const Party& a, const Party& b) {
  if (a.is_storage || b.is_storage) return a.is_storage != b.is_storage && !(a.stages.empty() && b.stages.empty());
  const auto is_near = [](StageId one, StageId other) {
    return std::max(one.value, other.value) - std::min(one.value, other.value) <= 1;
  };
  return std::ranges::any_of(a.stages, [&](StageId one) {
    return std::ranges::any_of(b.stages, [&](StageId other) { return is_near(one, other); });
  });
}

// A pair that must talk; empty: one of the two is not here any more, or they need not.
struct Talkers {
  const Party* a = nullptr;
  const Party* b = nullptr;
};
Talkers talkers_of(const std::vector<Party>& parties, ProcessIncarnation one, ProcessIncarnation other) {
  const Party* a = find(parties, one);
  const Party* b = find(parties, other);
  return a != nullptr && b != nullptr && must_talk(*a, *b) ? Talkers{a, b} : Talkers{};
}

// Everybody dials storage; of two nodes the one with the smaller number dials.
std::string remedy(const Party& a, const Party& b) {
  const Party& dialled = a.is_storage || (!b.is_storage && a.process > b.process) ? a : b;
  const Party& dials = &dialled == &a ? b : a;
  if (dialled.endpoint.port == 0) return std::string();
  return compose(": ", open_port_text(dialled.endpoint.host, dialled.endpoint.port), " for ", dials.name);
}

std::string cannot_reach(const Party& a, const Party& b) {
  return compose(a.name, " and ", b.name, " cannot reach each other");
}

bool can_be_spared(const Party& party) { return !party.is_storage && party.stage_replicas > 1; }

}  // namespace

void Complaints::hear(ProcessIncarnation from, ProcessIncarnation about, PairLink link, Instant now) {
  if (from == about) return;
  const Pair pair = std::minmax(from, about);
  Standing& known = pairs_.try_emplace(pair, Standing{std::nullopt, now}).first->second;
  const bool is_known_as_lost = known.since && now - known.last <= limits_.forget_after;
  if (!is_known_as_lost) known.since = now;
  if (link == PairLink::kStands) known.since.reset();
  known.last = now;
}

void Complaints::forget(ProcessIncarnation process) {
  std::erase_if(pairs_,
                [process](const auto& entry) { return entry.first.first == process || entry.first.second == process; });
}

std::optional<Expulsion> Complaints::judge(const std::vector<Party>& parties, Instant now) {
  std::erase_if(pairs_, [&](const auto& entry) { return now - entry.second.last > limits_.forget_after; });
  std::map<ProcessIncarnation, std::size_t> unreached;  // how many others do not reach it
  for (const auto& [pair, standing] : pairs_) {
    if (talkers_of(parties, pair.first, pair.second).a == nullptr) continue;
    ++unreached[pair.first];
    ++unreached[pair.second];
  }
  for (const auto& [pair, standing] : pairs_) {
    const auto [a, b] = talkers_of(parties, pair.first, pair.second);
    if (a == nullptr || !standing.since || now - *standing.since < limits_.evict_after) continue;
    if (!can_be_spared(*a) && !can_be_spared(*b)) continue;
    const auto rank = [&unreached](const Party& party) {
      return std::tuple(can_be_spared(party), unreached[party.process], party.stage_replicas, party.process);
    };
    const Party& goes = rank(*a) > rank(*b) ? *a : *b;
    const Party& stays = &goes == a ? *b : *a;
    return Expulsion{goes.process, compose("it and ", stays.name, " cannot reach each other (", unreached[goes.process],
                                           " processes cannot reach it, ", unreached[stays.process], " the other)")};
  }
  return std::nullopt;
}

std::optional<std::string> Complaints::lasting(const std::vector<Party>& parties, Instant now, Duration age) const {
  for (const auto& [pair, standing] : pairs_) {
    const auto [a, b] = talkers_of(parties, pair.first, pair.second);
    if (a == nullptr || a->is_storage || b->is_storage) continue;
    const bool is_told_now = now - standing.last <= limits_.forget_after;
    if (!is_told_now || !standing.since || now - *standing.since < age) continue;
    return cannot_reach(*a, *b);
  }
  return std::nullopt;
}

std::vector<ProcessIncarnation> Complaints::unreached_by(ProcessIncarnation process, Instant now) const {
  std::vector<ProcessIncarnation> others;
  for (const auto& [pair, standing] : pairs_) {
    if (!standing.since || now - standing.last > limits_.forget_after) continue;
    if (pair.first == process) others.push_back(pair.second);
    if (pair.second == process) others.push_back(pair.first);
  }
  return others;
}

std::string Complaints::explain(const std::vector<Party>& parties) const {
  std::string text;
  for (const auto& [pair, standing] : pairs_) {
    const Party* a = find(parties, pair.first);
    const Party* b = find(parties, pair.second);
    if (a == nullptr || b == nullptr) continue;
    text += compose(text.empty() ? "" : "; ", cannot_reach(*a, *b), remedy(*a, *b));
  }
  return text;
}

}  // namespace shoal
