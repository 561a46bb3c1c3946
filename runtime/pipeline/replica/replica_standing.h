// Standing of a replica now: the state it holds, its place in the run, in the journal and in its step.
//
// The frame (replica.h) alone changes it, with what its parts tell (replica_facts.h) and with what the journal says,
// each time before any part hears of that; the parts read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "messages/address.h"
#include "messages/cause.h"
#include "messages/journal.h"
#include "messages/storage.h"
#include "runtime/journal/view.h"
#include "runtime/pipeline/replica/replica_facts.h"
#include "runtime/pipeline/replica/replica_setup.h"

namespace shoal {

enum class Membership : std::uint8_t { kLoading, kReady, kMember, kEnded };

struct ReplicaStanding {
  explicit ReplicaStanding(ReplicaSetup given);

  // Facts and entries; those that change nothing here are not declared.
  void hear(const AddReplica& entry) { members[entry.replica] = entry.stage.value; }
  void hear(const RemoveReplica& entry) { members.erase(entry.replica); }
  void hear(const View& past);
  void hear(const EpochEntered& fact);
  void hear(const SumAdopted&) { phase = Phase::kReduced; }
  void hear(const StepApplied& fact);
  void hear(const StepEnded& fact);
  void hear(const StateExpected& fact) { state = fact.state; }
  void hear(const StateLoaded& fact);
  void hear(const StepFollowed& fact) { state = fact.state; }
  void hear(const StateChanged& fact) { state.digest = fact.digest; }
  void hear(const ReplicaAdmitted&) { membership = Membership::kMember; }

  [[nodiscard]] bool is_member() const { return membership == Membership::kMember; }
  [[nodiscard]] bool is_last_stage() const { return setup.stage.value + 1 == setup.stage_count; }
  // sync.mode = diloco: members apply their own sums, and agree at rounds.
  [[nodiscard]] bool has_rounds() const { return setup.rounds.has_value(); }
  // The view has it in that stage.
  [[nodiscard]] bool knows(Incarnation replica, std::uint32_t stage) const;
  [[nodiscard]] std::size_t members_of_stage() const;
  // An order of the step in progress or a later one, to a replica that may obey it or will be able to (P-25a).
  [[nodiscard]] bool is_meant_by(const OrderId& order) const;
  // A question to this member of this branch.
  [[nodiscard]] bool is_asked_by(const FetchState& question) const;

  // The step in progress, in the epoch that was obeyed last.
  [[nodiscard]] OrderId order_id() const;
  // A question's cause, as the answer to it has it.
  [[nodiscard]] Cause answer_to(Cause cause) const;
  // Returns the sender of this stage's input: a replica of the stage before, or the data loader.
  [[nodiscard]] Address upstream(Incarnation replica) const;
  // For what the router of this process keeps in this replica's name.
  [[nodiscard]] Address own_router() const { return {setup.process, Role::kRouter, setup.stage, setup.self}; }
  // For entries that this replica has not read yet.
  [[nodiscard]] FetchJournal journal_question() const { return {setup.process, position}; }

  ReplicaSetup setup;  // what it was started with
  HeldState state;
  Membership membership = Membership::kLoading;
  std::map<Incarnation, std::uint32_t> members;  // the view: stage of each replica
  JournalPosition position;
  Term term;
  Phase phase = Phase::kOpen;
  Epoch epoch;  // the highest that was obeyed
  // Its weights are those of no version: of a step that is applied, without the rounds that are due after it.
  bool is_at_boundary = false;
};

}  // namespace shoal
