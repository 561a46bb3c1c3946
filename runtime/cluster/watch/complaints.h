// Decides which of two processes has to go that the spawner reaches, but that do not reach each other.
//
// Each reports it while it lasts (PeerUnreachable); a pair without new reports is forgotten. A pair that must
// talk (replicas of one stage or of neighbouring ones, storage and a saving replica) and cannot for long enough loses
// one of the two: never storage, never the last replica of its stage; the one that more others cannot reach, then the
// one whose stage has more replicas, then the younger. A shared device counts as the scarcest of its stages does. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/cluster.h"
#include "runtime/base/clock.h"

namespace shoal {

struct ComplaintLimits {
  Duration evict_after = std::chrono::seconds(5);     // age of complaints about a pair without a link
  Duration forget_after = std::chrono::seconds(4);    // without a word about it
  Duration lasts_after = std::chrono::seconds(20);    // age at which nobody is expected to go, and no link to come
  Duration divides_after = std::chrono::seconds(60);  // age at which all start again among those who reach each other
};

// A process as far as its place in the run matters here.
struct Party {
  ProcessIncarnation process;
  std::string name;
  bool is_storage = false;
  std::vector<StageId> stages{};   // the stages that it serves in the view
  std::size_t stage_replicas = 0;  // live ones of the scarcest of them
  Endpoint endpoint{};             // the address where others dial it
};

enum class PairLink : std::uint8_t { kNone, kStands };

struct Expulsion {
  ProcessIncarnation process;
  std::string reason;
};

class Complaints {
 public:
  explicit Complaints(ComplaintLimits limits = {}) : limits_(limits) {}

  // link: whether the two still have one. While it stands nobody goes: what does not come through may come later.
  void hear(ProcessIncarnation from, ProcessIncarnation about, PairLink link, Instant now);
  void forget(ProcessIncarnation process);
  // At most one at a time: the next look sees what its absence leaves of the others.
  [[nodiscard]] std::optional<Expulsion> judge(const std::vector<Party>& parties, Instant now);
  // Those that it cannot reach, or that cannot reach it, as far as is said now; while a link stands it is none.
  [[nodiscard]] std::vector<ProcessIncarnation> unreached_by(ProcessIncarnation process, Instant now) const;
  // Names two replicas that must talk and have had no link for long, although one that can be spared goes sooner: the
  // step stands until they have one. "node1 and node3 cannot reach each other"; nothing: there are none.
  [[nodiscard]] std::optional<std::string> lasting(const std::vector<Party>& parties, Instant now) const {
    return lasting(parties, now, limits_.lasts_after);
  }
  // The same for so long that no link is waited for any more.
  [[nodiscard]] std::optional<std::string> dividing(const std::vector<Party>& parties, Instant now) const {
    return lasting(parties, now, limits_.divides_after);
  }
  // "node1 and node3 cannot reach each other: open TCP port 7103 of 10.0.0.3 for node1"; empty when all is well.
  [[nodiscard]] std::string explain(const std::vector<Party>& parties) const;

 private:
  [[nodiscard]] std::optional<std::string> lasting(const std::vector<Party>& parties, Instant now, Duration age) const;

  using Pair = std::pair<ProcessIncarnation, ProcessIncarnation>;
  struct Standing {
    std::optional<Instant> since;  // without a link; nothing while it stands
    Instant last;
  };

  ComplaintLimits limits_;
  std::map<Pair, Standing> pairs_;
};

}  // namespace shoal
