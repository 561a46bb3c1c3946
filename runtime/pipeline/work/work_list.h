// The microbatches of one step or of one evaluation, and what has become of each.
//
//   waiting ──sent──▶ in flight ──answered──▶ answered ──unanswered (training)──▶ in flight
//      └────────────────┴── left_out ──▶ left out
//
// The last evaluation of a run may have hundreds of thousands. So the list keeps apart what is in flight, who holds how
// many, and where the first one waits: an answer, a choice and a look for those that are overdue take time by what is
// in flight, not by the length of the list. Pure; time comes in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "messages/pipeline.h"
#include "runtime/base/clock.h"

namespace shoal {

enum class WorkState : std::uint8_t { kWaiting, kInFlight, kAnswered, kLeftOut };

struct WorkItem {
  WorkState state = WorkState::kWaiting;
  int repeats = 0;
  std::vector<Incarnation> path;
  std::vector<std::string_view> reasons;  // why the planner took each; empty where its policy says none
  Instant sent;
  Instant due;  // in flight: when it is sent once more
  double loss_sum = 0;
  std::uint64_t token_count = 0;
  std::uint64_t target_bytes = 0;  // of an evaluation
};

enum class Offered : std::uint8_t {
  kTaken,    // it was sent
  kRefused,  // and so would be the others of its sort
  kNoMore,   // nothing is taken now
};

class WorkList {
 public:
  using Held = std::map<Incarnation, std::uint32_t>;  // microbatches in flight; of nobody 0

  WorkList(Purpose purpose, std::size_t count) : purpose_(purpose), items_(count) {}

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool has(MicrobatchId microbatch) const { return microbatch.value < items_.size(); }
  // Ensures that the list has it.
  [[nodiscard]] const WorkItem& at(MicrobatchId microbatch) const;
  // Counts those that are answered or left out.
  [[nodiscard]] std::size_t settled() const { return settled_; }
  [[nodiscard]] bool is_settled() const { return settled_ == items_.size(); }
  [[nodiscard]] std::size_t waiting() const { return items_.size() - settled_ - in_flight_.size(); }
  // Ascending.
  [[nodiscard]] const std::set<MicrobatchId>& in_flight() const { return in_flight_; }
  // Returns how many are in flight at each replica, of each stage that a path has.
  [[nodiscard]] const std::vector<Held>& held() const { return held_; }

  // Offers what waits, in ascending order. Microbatches whose numbers are equal modulo `sorts` are of one sort. `take`
  // calls sent() for what it takes.
  void offer(std::size_t sorts, const std::function<Offered(MicrobatchId)>& take);

  // Says by which path one that waits is to go.
  void plan(MicrobatchId microbatch, std::vector<Incarnation> path, std::vector<std::string_view> reasons);
  // Says when one that is sent now, or is tried to be, is sent once more.
  void set_due(MicrobatchId microbatch, Instant due) { item(microbatch).due = due; }
  // Takes note that one is sent, for the first time or again. target_bytes: as the sample says.
  void sent(MicrobatchId microbatch, std::uint64_t target_bytes, Instant now);
  void repeat(MicrobatchId microbatch) { ++item(microbatch).repeats; }
  // Ensures that it is in flight.
  void answered(MicrobatchId microbatch, double loss_sum, std::uint64_t token_count);
  // Puts one that was answered, of a step (ensured), in flight again.
  void unanswered(MicrobatchId microbatch, Instant due);
  // Ensures that it is not left out yet.
  void left_out(MicrobatchId microbatch);
  // Puts whomever `other` says in the place of a replica of that stage, on each path that has it.
  void replace(StageId stage, Incarnation replica,
               const std::function<std::optional<Incarnation>(MicrobatchId)>& other);

  // Counts the looks at items, for tests that bound them.
  [[nodiscard]] std::uint64_t looks() const { return looks_; }

 private:
  [[nodiscard]] WorkItem& item(MicrobatchId microbatch);
  [[nodiscard]] std::optional<MicrobatchId> first_waiting(std::size_t sort);
  void enter_flight(MicrobatchId microbatch, WorkItem& item);
  void leave_flight(MicrobatchId microbatch, const WorkItem& item);
  void give_back(std::size_t stage, Incarnation replica);

  Purpose purpose_;
  std::vector<WorkItem> items_;
  std::size_t settled_ = 0;
  std::set<MicrobatchId> in_flight_;
  std::vector<Held> held_;          // by stage
  std::vector<std::size_t> first_;  // by sort: none of it before this one waits
  mutable std::uint64_t looks_ = 0;
};

}  // namespace shoal
