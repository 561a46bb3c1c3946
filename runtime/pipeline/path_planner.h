// Which replica of each stage a microbatch visits, decided before it leaves (DESIGN.md §5).
//
//   static   microbatch i visits the (i mod R)-th member of each stage
//   uniform  a seeded draw per stage
//   iwrr     interleaved weighted round robin: each member has a virtual time; the least is taken and advanced by
//            load / measured speed; a newcomer enters at the current minimum, and a step begins with equal times; at
//            its tail nobody gets one more if faster ones would have ended all that waits before
//   cost_to_go  whoever is expected to be done with it first (cost_to_go.h)
//
// The planner learns from the trails that come back. Whoever failed is banned until it appears in a trail again or
// kBan has passed, for then it is probed with one microbatch; a ban never leaves a stage without a candidate.
// Pure: time comes in. Safety never depends on a plan (the manifests decide), only speed does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "messages/pipeline.h"
#include "runtime/base/clock.h"
#include "runtime/base/config.h"
#include "runtime/journal/view.h"

namespace shoal {

// Replicas that serve each stage, ascending by incarnation; index = stage.
using Members = std::vector<std::vector<Incarnation>>;

[[nodiscard]] Members members_of(const View& view, std::uint32_t stages);
[[nodiscard]] bool serves_every_stage(const Members& members);

// Returns who takes over one hop. The same answer wherever it is asked with the same members, so that two upstream
// replicas that both re-send a microbatch meet at one holder instead of making a duplicate. None: nobody else is there.
[[nodiscard]] std::optional<Incarnation> replacement_hop(const std::vector<Incarnation>& stage_members,
                                                         MicrobatchId microbatch, Incarnation failed);

struct PlanRequest {
  MicrobatchId microbatch;
  Purpose purpose = Purpose::kTrain;
  const Members* members = nullptr;                       // every stage has at least one (ensured)
  const std::set<Incarnation>* without_credit = nullptr;  // replicas, of any stage, that hold all they may
  // Holders of it already, banned or not: it goes to them, and is their load. None: nobody.
  const std::map<StageId, Incarnation>* held = nullptr;
  std::size_t waiting = 1;  // microbatches that have not left yet, this one included
};

class PathPlanner {
 public:
  static constexpr Duration kBan = std::chrono::seconds(10);

  virtual ~PathPlanner() = default;
  // One replica per stage; none when the policy's choice for a stage has no credit left. A refusal changes no later
  // choice, and until something leaves, is answered or learnt, all others of its sort that nobody holds are refused.
  [[nodiscard]] virtual std::optional<std::vector<Incarnation>> plan(const PlanRequest& request, Instant now) = 0;
  // Microbatches whose numbers are equal modulo this are of one sort. 1: the number does not matter.
  [[nodiscard]] virtual std::size_t sorts(const Members& /*members*/) const { return 1; }
  // Learns how long a training microbatch's hops took; last stage first, as in Backward.
  virtual void learn(const std::vector<Hop>& trail) = 0;
  virtual void failed(Incarnation replica, Instant now) = 0;
  // A microbatch that it planned is answered, or left out: the credits of its path are free again.
  virtual void answered(MicrobatchId /*microbatch*/, const std::vector<Incarnation>& /*path*/) {}
  // Another step or evaluation begins: nothing is in flight.
  virtual void begin_work() {}
  // Says in a few words why the newest path takes its replica of that stage; nothing where the policy needs no reason.
  [[nodiscard]] virtual std::string_view reason(std::size_t /*stage*/) const { return {}; }
};

[[nodiscard]] std::unique_ptr<PathPlanner> make_path_planner(Routing routing, std::uint64_t seed);

}  // namespace shoal
