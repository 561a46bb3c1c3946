// Lists who is in: the processes that joined, the members that the journal names, which of these serve, who leaves, and
// which peers some do not let in.
//
// A member serves while its process lives and its actor has not ended: it is live. Whoever was told to leave serves on
// until it may go. The view changes with entries only (P-2), so for a while it names members that are live no more.
// Pure. A plain value: each of its parts keeps its own invariants, what is asked here is asked of several of them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/commit_gate.h"
#include "runtime/cluster/operate/leavers.h"
#include "runtime/cluster/process_directory.h"
#include "runtime/cluster/recovery/joining_replicas.h"
#include "runtime/cluster/watch/complaints.h"
#include "runtime/cluster/watch/refused_peers.h"
#include "runtime/journal/view.h"

namespace shoal {

// Past of a replica's place in a stage, as far as this term of the spawner knows.
struct SlotPast {
  std::uint32_t times_added = 0;  // at least one, once there is an entry of it
  std::string last_worker;        // by name: who served it
};

// A replica that is to serve another stage: it leaves its own, then its worker joins the other one (P-28d). The duty of
// rebalancing chooses it and follows it to its new place.
struct Mover {
  Incarnation replica;  // of the stage that it leaves
  ProcessIncarnation process;
  StageId from, to;
  Instant since{};
  std::optional<Instant> left_at{};
  bool is_joining = false;
};

struct Roster {
  View view;
  ProcessDirectory processes;
  Leavers leavers;
  std::set<Incarnation> ended{};     // replicas whose actor ended though their process lives
  std::set<Incarnation> removing{};  // their RemoveReplica was asked for and is not in the view yet
  std::map<std::pair<StageId, ReplicaId>, SlotPast> slots{};
  // Members go between two steps with their process (leavers), or though it stays: the mover, whose worker is to serve
  // another stage, and one that gives way, whose worker serves several stages and is not needed in this one any more
  // (P-28c). goes() asks for all of them.
  std::optional<Mover> mover{};
  RefusedPeers refused{};  // peers that some process does not let in any more
  std::optional<Incarnation> giving_way{};

  // The entry that comes next, appended in this term.
  void follow(const JournalEntry& entry);
  // A process says what it serves: its members that it does not name have ended. Returns what is in no view.
  [[nodiscard]] std::vector<ServedReplica> compare(const Join& join, ProcessIncarnation process);

  [[nodiscard]] bool is_live(const ReplicaMember& member) const;
  // The live members of a stage, ascending by incarnation.
  [[nodiscard]] std::vector<ReplicaMember> live(StageId stage) const;
  [[nodiscard]] std::size_t live_count() const;
  [[nodiscard]] bool is_served(StageId stage) const { return !live(stage).empty(); }
  // True when another process serves it, and stays.
  [[nodiscard]] bool is_served_without(StageId stage, ProcessIncarnation process) const;
  // Returns the stages in which it has a live member.
  [[nodiscard]] std::vector<StageId> stages_of(ProcessIncarnation process) const;

  // Returns who saves each of the stages 0 .. stages-1: the lowest live incarnation, of those that stay if any does.
  // Empty when a stage has none.
  [[nodiscard]] std::vector<Incarnation> savers(std::uint32_t stages) const;
  // Returns the replica that a joiner of the stage copies: the live member that feeds the fewest; 0 when there is none.
  [[nodiscard]] Incarnation donor_of(StageId stage, const std::vector<Joiner>& joiners) const;
  // Somebody who leaves, is the last of a stage, and nobody is on the way to it.
  [[nodiscard]] std::optional<LastOfStage> last_that_leaves(const std::vector<Joiner>& joiners) const;
  // True for a member that is to leave its stage: with its process, for another stage, or because it gives way.
  [[nodiscard]] bool goes(const ReplicaMember& member) const;
  // Returns all members that do.
  [[nodiscard]] std::vector<Incarnation> leaving() const;
  // The processes that live, and what they serve.
  [[nodiscard]] std::vector<Party> parties() const;
};

}  // namespace shoal
