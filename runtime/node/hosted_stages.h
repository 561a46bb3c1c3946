// The stages of one process: which run, which starts next, which hangs, and the report of one that ended.
//
// A number is started once, however often it is ordered: orders come with rising numbers, or are repeats. A device
// holds one branch at a time: the stages of a later branch, of which a shared device has several, wait until those of
// the earlier one have ended. Of a replica
// that ended the supervisor is told what it was computing, and so of those that the process's last life left behind at
// a crash. Pure but for the note of what is computed (work_note.h): time comes in.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cluster/watch/hang_watch.h"
#include "runtime/node/node_effects.h"
#include "runtime/trace/work_note.h"

namespace shoal {

// "stage/1/0", as in logs and `shoal ps`.
[[nodiscard]] std::string stage_name(const SpawnStage& order);

struct HungStage {
  SpawnStage order;
  std::string reason;
};

class HostedStages {
 public:
  explicit HostedStages(std::shared_ptr<WorkNote> note) : note_(std::move(note)) {}

  // An order to start one, in a process that may.
  [[nodiscard]] NodeEffects spawn(const SpawnStage& order);
  // It runs. run: of this process, for what the last life left behind.
  [[nodiscard]] NodeEffects started(const SpawnStage& order, RunId run);
  [[nodiscard]] NodeEffects end(const EndStage& order);
  // Returns the order that had started it; nothing if no such stage runs.
  [[nodiscard]] std::optional<SpawnStage> down(Incarnation replica);
  // Returns the orders that waited for the stages of the earlier branch, in order.
  [[nodiscard]] std::vector<SpawnStage> take_next() { return std::exchange(next_, {}); }

  // Asks each that owes no answer.
  [[nodiscard]] NodeEffects ask(Instant now);
  void answered(Incarnation replica, std::uint64_t pieces, Duration longest) {
    hangs_.answered(replica, pieces, longest);
  }
  // least: before that nobody hangs.
  [[nodiscard]] std::optional<HungStage> find_hung(Duration least, Instant now);

  // Returns the report of a replica that ended.
  [[nodiscard]] NodeEffect report_end(const SpawnStage& order, const std::string& reason);
  // The same of those that the process's last life left behind.
  [[nodiscard]] NodeEffects report_left_behind(RunId run) const;

  [[nodiscard]] std::vector<ServedReplica> served() const;
  [[nodiscard]] bool is_empty() const { return running_.empty(); }

 private:
  void await(const SpawnStage& order);

  std::shared_ptr<WorkNote> note_;
  std::map<Incarnation, SpawnStage> running_;
  Incarnation newest_;            // that was started
  std::vector<SpawnStage> next_;  // of one branch
  HangWatch hangs_;
};

}  // namespace shoal
