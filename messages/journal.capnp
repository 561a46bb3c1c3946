@0xd2a1c0f3b7e64a04;
# Wire form of messages/journal.h, field for field.
using Cxx = import "/capnp/c++.capnp";
using import "cause.capnp".Epoch;
using import "sync.capnp".MemberManifest;
using import "sync.capnp".TensorNorm;
using import "sync.capnp".RoundShare;
$Cxx.namespace("shoal::wire");

struct AddReplica {
  stage @0 :UInt32;
  slot @1 :UInt32;
  replica @2 :UInt64;
  process @3 :UInt64;
  version @4 :UInt64;
}

struct RemoveReplica {
  stage @0 :UInt32;
  replica @1 :UInt64;
  reason @2 :Text;
}

struct AppointGroup {
  stage @0 :UInt32;
  group @1 :UInt64;
}

struct StageCommit {
  stage @0 :UInt32;
  epoch @1 :Epoch;
  digest @2 :UInt64;
  manifests @3 :List(MemberManifest);
}

struct Commit {
  step @0 :UInt64;
  stages @1 :List(StageCommit);
  norms @2 :List(TensorNorm);
  gradientNorm @3 :Float64;
  lossSum @4 :Float64;
  tokenCount @5 :UInt64;
  learningRate @6 :Float64;
  clipScale @7 :Float64;
  optimizerStep @8 :UInt64;
  isSkipped @9 :Bool;
  skipTensor @10 :Text;
  skipMicrobatch @11 :UInt32;
  checkpointBy @12 :List(UInt64);
  isLast @13 :Bool;
  stepMs @14 :Float64;
  isPartlyTimed @15 :Bool;
}

struct FinishRun { reason @0 :Text; }

struct Quarantine {
  step @0 :UInt64;
  microbatch @1 :UInt32;
  reason @2 :Text;
}

struct CommitRound {
  stage @0 :UInt32;
  step @1 :UInt64;
  round @2 :UInt64;
  fragment @3 :UInt32;
  epoch @4 :Epoch;
  digest @5 :UInt64;
  shares @6 :List(RoundShare);
  tokensLost @7 :UInt64;
  lost @8 :List(UInt64);
  trainedAgainFrom @9 :UInt64;
}

struct JournalEntry {
  position @0 :UInt64;
  branch @1 :UInt32;
  term @2 :UInt64;
  body :union {
    addReplica @3 :AddReplica;
    removeReplica @4 :RemoveReplica;
    appointGroup @5 :AppointGroup;
    commit @6 :Commit;
    finishRun @7 :FinishRun;
    quarantine @8 :Quarantine;
    commitRound @9 :CommitRound;
  }
}

struct ReplicaMember {
  incarnation @0 :UInt64;
  slot @1 :UInt32;
  process @2 :UInt64;
}

struct StageMembers {
  replicas @0 :List(ReplicaMember);
  lastChange @1 :UInt64;
}

struct StepTotals {
  version @0 :UInt64;
  optimizerStep @1 :UInt64;
  tokens @2 :UInt64;
  isSaved @3 :Bool;
}

struct RoundLoss {
  version @0 :UInt64;
  number @1 :UInt64;
  lost @2 :UInt64;
}

struct LostTokensState {
  rounds @0 :List(RoundLoss);
  inRounds @1 :UInt64;
  thrownAway @2 :UInt64;
}

struct TakenPlaces {
  version @0 :UInt64;
  first @1 :UInt64;
  before @2 :UInt64;
  lost @3 :List(UInt64);
  samples @4 :List(UInt64);
}

struct RequeuedState {
  taken @0 :List(TakenPlaces);
  forgotten @1 :UInt64;
}

struct QuarantinedMicrobatch {
  step @0 :UInt64;
  microbatch @1 :UInt32;
}

struct AgreedRound {
  stage @0 :UInt32;
  fragment @1 :UInt32;
  round @2 :UInt64;
}

struct ViewState {
  position @0 :UInt64;
  branch @1 :UInt32;
  committedSteps @2 :UInt64;
  start @3 :UInt64;
  heldUntil @4 :UInt64;
  isAtLastCommit @5 :Bool;
  skipsInARow @6 :UInt32;
  stages @7 :List(StageMembers);
  groups @8 :List(AppointGroup);
  rounds @9 :List(AgreedRound);
  totals @10 :List(StepTotals);
  lost @11 :LostTokensState;
  quarantined @12 :List(QuarantinedMicrobatch);
  requeued @13 :RequeuedState;
  ends @14 :List(UInt64);
  isFinished @15 :Bool;
  finished @16 :Text;
}

struct ContributedTotal {
  version @0 :UInt64;
  tokens @1 :UInt64;
  isBeforeSaved @2 :Bool;
}

struct OrderedCheckpoint {
  version @0 :UInt64;
  by @1 :List(UInt64);
}

struct JournalSnapshot {
  view @0 :ViewState;
  highestBranch @1 :UInt32;
  contributed @2 :List(ContributedTotal);
  checkpoints @3 :List(OrderedCheckpoint);
}

struct JournalEntries {
  run @0 :UInt64;
  term @1 :UInt64;
  entries @2 :List(JournalEntry);
  hasPast @3 :Bool;
  past @4 :ViewState;
}

struct FetchJournal {
  process @0 :UInt64;
  after @1 :UInt64;
}
