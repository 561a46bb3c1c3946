// Facts, which the duties of the supervisor say to each other, and their answers: closed lists of values.
//
// A fact that is named ...Due asks the duty whose decision it is to look now; the others say what has happened or what
// somebody has decided. The frame (supervisor.h) hands every fact to all duties before it goes on with the answer that
// holds it, so what stands behind a fact in an answer comes after everything that follows from the fact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "messages/letter.h"
#include "messages/values/one_of.h"
#include "runtime/base/error.h"
#include "runtime/cluster/last_step.h"
#include "runtime/cluster/truth/supervisor_effects.h"

namespace shoal {

enum class RunPhase : std::uint8_t { kReturning, kRollingBack, kGathering, kSpawning, kTraining, kEnding, kOver };

// From outside, beside the messages.
struct TermBegins {};  // the journal is read
struct TickCame {};
struct StopAsked {  // a signal: finish the step, save, end with the status
  std::string reason;
  int exit_status = 0;
};
struct GroupEnded {
  StageId stage;
  Incarnation group;
  std::string reason;
};
struct DataLoaderEnded {
  std::string reason;
};
struct ProcessDied {  // the process certainly does not run any more
  ProcessIncarnation process;
  std::string reason;
};
struct StartFound {
  std::uint64_t look = 0;
  StartPoint start;
};
struct StartNotFound {
  std::uint64_t look = 0;
  Failure failure;
};
struct JournalFailed {
  std::string reason;
  int exit_status = 0;
  bool is_entry_asked = false;  // one was asked for that is not recorded
};

// Processes.
struct GivenUp {  // if it is in
  ProcessIncarnation process;
  std::string reason;
  Departure how = kWasLost;
};
struct ProcessGone {
  ProcessIncarnation process;
  std::string name;
  ProcessRole role = ProcessRole::kNode;
  std::string reason;
  Departure how = kWasLost;
};
struct ProcessJoined {
  ProcessIncarnation process;
  std::string warning;  // mixed kernels where they are allowed
};
struct CameBack {  // to a spawner that was started again, under the number that it had
  Join join;
};
struct LinkedAgain {  // its link broke and it dialled again, or it has not heard its welcome yet
  ProcessIncarnation process;
};
struct Served {  // its replicas are to be compared
  Join join;
  ProcessIncarnation process;
};
struct Welcomed {
  ProcessIncarnation process;
};
struct PutOut {  // by a person
  ProcessIncarnation process;
};
struct PeersChanged {};
struct ComplaintsDue {};

// Replicas that start, join, or are lost.
struct WorkersChanged {};  // places may be filled now
struct JoinersDue {};
struct ReadyInTraining {
  StageReady ready;
};
struct StrangerReady {  // nobody asked for it, or nobody does any more
  StageReady ready;
};
struct ReplicaFailed {  // ended on this worker
  ProcessIncarnation process;
  std::string reason;
};
struct WorkerRests {
  std::string worker;
  Instant until;
};
struct OrderedToEnd {  // by an order of a person
  Incarnation replica;
};
struct MembersBegin {  // all that a start adds; their entries are asked for next
  ProcessIncarnation first;
};
struct MembersDue {  // some may serve no more
  std::string reason;
};
struct MemberLost {
  Incarnation replica;
};

// Leaving without losing work.
struct DrainAsked {
  ProcessIncarnation process;
  std::string reason;
};
struct DrainExpected {  // a device that is being started again leaves when it joins
  std::string name;
  std::string reason;
};
struct LeaversDue {};       // those who are missed by nobody
struct SavedLeaversDue {};  // and those who have left their state
struct AllLeaversDue {};
struct MoverGoes {  // its process stays
  Incarnation replica;
  StageId stage;
  std::string reason;
};
struct LeaverGoes {
  ProcessIncarnation process;
  std::string reason;
};

// Steps, rounds and checkpoints.
struct CommitDue {};
struct RoundsDue {};
struct StepForgotten {};  // all of it is done again
struct CheckpointDelayed {
  std::uint64_t version = 0;
  std::string why;
};
struct CheckpointWanted {};  // by a person, of the next commit
struct LastStateUnsaved {};  // no commit named a saver for it

// Starts, returns and roll-backs.
struct PhaseBegins {
  RunPhase phase = RunPhase::kGathering;
};
struct ReturnBegins {};
struct ReturnDue {};
struct RunDivided {  // two that must talk cannot, nobody can be spared, and others could serve every stage
  std::string reason;
};
struct LossDue {};  // may all go back now, for a stage that is lost?
struct RollBack {
  std::string reason;
};
struct StartWanted {
  FindCheckpoint wanted;
};
struct StartFailed {  // replicas could not begin from the state that was found
  std::string why;
};
struct StartOver {
  StartPoint start;
};
struct BranchBegins {
  StartPoint start;
};
struct BranchBegun {};
struct StartRepeated {
  bool is_in_vain = false;  // tried from the same state before
};
struct StartPaused {
  Instant until;
};
struct TrainingBegins {
  std::uint64_t version = 0;
};

// The end.
struct EndDue {};
struct EndsAfterStep {  // training has diverged, what is good is saved first
  StopOrder order;
};
struct DismissalDue {};  // whoever is still there goes, once the run is over
struct EndOfRun {
  int exit_status = 0;
  std::string reason;
  RunEventKind kind{};  // kFinished, kStopped, kFailed
};
// The run ends as a stop that was ordered says.
[[nodiscard]] inline EndOfRun end_by(const StopOrder& stop) { return {stop.exit_status, stop.reason, stop.kind}; }
struct EndsAgain {};  // the last words of it were cut short
struct HandsOver {    // this process alone ends; the next term goes on
  std::string reason;
};

using RunFact =
    OneOf<GivenUp, ProcessGone, ProcessJoined, CameBack, LinkedAgain, Served, Welcomed, PutOut, PeersChanged,
          ComplaintsDue, WorkersChanged, JoinersDue, ReadyInTraining, StrangerReady, ReplicaFailed, WorkerRests,
          OrderedToEnd, MembersBegin, MembersDue, MemberLost, DrainAsked, DrainExpected, LeaversDue, SavedLeaversDue,
          AllLeaversDue, MoverGoes, LeaverGoes, CommitDue, RoundsDue, StepForgotten, CheckpointDelayed,
          CheckpointWanted, LastStateUnsaved, PhaseBegins, ReturnBegins, ReturnDue, RunDivided, LossDue, RollBack,
          StartWanted, StartFailed, StartOver, BranchBegins, BranchBegun, StartRepeated, StartPaused, TrainingBegins,
          EndDue, DismissalDue, EndsAfterStep, EndOfRun, EndsAgain, HandsOver>;

// An event of the run and a line of the log, as of the steps that are committed.
struct Announcement {
  RunEventKind kind{};
  std::string subject, reason;
};

using DutyAnswer = OneOf<SupervisorEffect, Announcement, RunFact>;

// Holds what a duty answers, in order.
class Answers {
 public:
  void send(const Address& to, MessageBody body) { perform(Letter{kSpawnerProcess, to, std::move(body)}); }
  void append(JournalBody body) { perform(AppendEntry{std::move(body)}); }
  void note(std::string text) { perform(Note{std::move(text)}); }
  void perform(SupervisorEffect effect) { all_.emplace_back(std::move(effect)); }
  void announce(RunEventKind kind, std::string subject, std::string reason) {
    all_.emplace_back(Announcement{kind, std::move(subject), std::move(reason)});
  }
  void tell(RunFact fact) { all_.emplace_back(std::move(fact)); }
  [[nodiscard]] const std::vector<DutyAnswer>& all() const { return all_; }
  [[nodiscard]] std::vector<DutyAnswer>& all() { return all_; }

 private:
  std::vector<DutyAnswer> all_;
};

// How a process that was given up as lost is told so when it speaks: it may have been frozen or cut off.
[[nodiscard]] EndProcess end_of_lost(bool was_evicted);

}  // namespace shoal
