// The catalogue: one row per message that routers exchange, with every fact about it. All lists come from here: what a
// letter may hold (letter.h), the codec's cases, what facts.h says of a body, and what an actor must hear
// (actor_types.h). A message without a fact, and an actor without a handler for what it hears, do not compile.
//
//   type       the struct, in its conversation's header; letter.capnp and traces call it the same
//   said by    the roles of processes that may say it to another process
//   way        kLink; kLane: by the lane even without tensors, because it must not overtake what went there;
//              kTensors: by the lane with its tensors, by the link without
//   sender     the field that names its sender, which the receiving router checks (facts.h)
//   lost       kOnce: nobody says it again, and there are few of it: it waits for an absent peer however much waits
//              already; kAgain: said again where that matters
//   counts as  its field of ByteCounts
//   heard by   the actors that it is delivered to; kRouter: the router of their process reads it, alone or before them
#pragma once

// clang-format off
#define SHOAL_MESSAGES(ROW) \
  /*  type              said by           way       sender     lost    counts as   heard by */ \
  ROW(Forward,          kSpawner | kNode, kTensors, kSender,   kAgain, activation, kStage) \
  ROW(Backward,         kNode,            kLane,    kSender,   kAgain, gradient,   kStage | kDataLoader | kRouter) \
  ROW(Refusal,          kNode | kStorage, kLink,    kSender,   kAgain, control,    kRouter) \
  ROW(Ask,              kSpawner | kNode, kLane,    kSender,   kAgain, control,    kStage) \
  ROW(AskAnswer,        kNode,            kLane,    kSender,   kAgain, control,    kRouter) \
  ROW(Open,             kSpawner,         kLink,    kNobody,   kAgain, control,    kStage) \
  ROW(Zero,             kSpawner,         kLink,    kNobody,   kAgain, control,    kStage | kRouter) \
  ROW(Prepare,          kSpawner,         kLink,    kNobody,   kAgain, control,    kStage) \
  ROW(Reduce,           kSpawner,         kLink,    kNobody,   kAgain, control,    kStage) \
  ROW(Manifest,         kNode,            kLink,    kMember,   kAgain, control,    kSyncGroup) \
  ROW(Reduced,          kNode,            kLink,    kMember,   kAgain, control,    kSyncGroup) \
  ROW(Part,             kNode,            kTensors, kMember,   kAgain, reduce,     kStage) \
  ROW(PartsSent,        kNode,            kTensors, kMember,   kAgain, control,    kStage) \
  ROW(MissingParts,     kNode,            kLink,    kMember,   kAgain, control,    kStage) \
  ROW(Progress,         kNode,            kLink,    kMember,   kAgain, control,    kStage | kSyncGroup) \
  ROW(Prepared,         kNobody,          kLink,    kNobody,   kAgain, control,    kSupervisor) \
  ROW(Missing,          kSpawner,         kLink,    kNobody,   kAgain, control,    kStage | kDataLoader | kRouter) \
  ROW(AllAnswered,      kNobody,          kLink,    kNobody,   kAgain, control,    kSyncGroup) \
  ROW(AskHolders,       kNobody,          kLink,    kNobody,   kAgain, control,    kSyncGroup) \
  ROW(Holders,          kNobody,          kLink,    kNobody,   kAgain, control,    kDataLoader) \
  ROW(JournalEntries,   kSpawner,         kLink,    kNobody,   kAgain, control,    kRouter) \
  ROW(FetchJournal,     kNode | kStorage, kLink,    kProcess,  kAgain, control,    kSupervisor) \
  ROW(Hello,            kAnybody,         kLink,    kNobody,   kAgain, control,    kLink) \
  ROW(Join,             kNewcomer,        kLink,    kNobody,   kAgain, control,    kSupervisor) \
  ROW(Welcome,          kSpawner,         kLink,    kNobody,   kOnce,  control,    kNodeAgent | kRouter) \
  ROW(JoinRefused,      kSpawner,         kLink,    kNobody,   kOnce,  control,    kNodeAgent) \
  ROW(Peers,            kSpawner,         kLink,    kNobody,   kAgain, control,    kRouter) \
  ROW(Revocations,      kSpawner,         kLink,    kNobody,   kAgain, control,    kRouter) \
  ROW(SpawnStage,       kSpawner,         kLink,    kNobody,   kOnce,  control,    kNodeAgent) \
  ROW(StageReady,       kNode,            kLink,    kBoth,     kAgain, control,    kSupervisor) \
  ROW(StageEnded,       kNode,            kLink,    kReplica,  kOnce,  control,    kSupervisor) \
  ROW(EndStage,         kSpawner,         kLink,    kNobody,   kOnce,  control,    kNodeAgent) \
  ROW(Heartbeat,        kNode | kStorage, kLink,    kProcess,  kAgain, control,    kSupervisor) \
  ROW(HeartbeatEcho,    kSpawner,         kLink,    kNobody,   kAgain, control,    kNodeAgent) \
  ROW(EndProcess,       kSpawner,         kLink,    kNobody,   kOnce,  control,    kNodeAgent) \
  ROW(LeaveRun,         kSpawner,         kLink,    kNobody,   kOnce,  control,    kNodeAgent) \
  ROW(Leaving,          kNode | kStorage, kLink,    kProcess,  kOnce,  control,    kSupervisor) \
  ROW(ProcessLost,      kNobody,          kLink,    kNobody,   kAgain, control,    kSupervisor | kNodeAgent) \
  ROW(PeerUnreachable,  kNode | kStorage, kLink,    kProcess,  kAgain, control,    kSupervisor) \
  ROW(PeerRefused,      kNode | kStorage, kLink,    kProcess,  kAgain, control,    kSupervisor) \
  ROW(SaveShard,        kNode,            kTensors, kReplica,  kAgain, checkpoint,     kStorage) \
  ROW(FetchShard,       kStorage,         kLink,    kNobody,   kAgain, control,    kStage) \
  ROW(CheckpointSaved,  kStorage,         kLink,    kNobody,   kOnce,  control,    kSupervisor) \
  ROW(CheckpointFailed, kStorage,         kLink,    kNobody,   kOnce,  control,    kSupervisor) \
  ROW(SaveState,        kSpawner,         kLink,    kNobody,   kOnce,  control,    kStage) \
  ROW(FetchState,       kNode,            kLink,    kReplica,  kAgain, control,    kStage | kStorage) \
  ROW(StateImage,       kNode | kStorage, kTensors, kDonor,    kAgain, state,      kStage) \
  ROW(StateUnavailable, kNode | kStorage, kLink,    kDonor,    kOnce,  control,    kStage | kSupervisor) \
  ROW(StateProgress,    kNode | kStorage, kLink,    kReceiver, kAgain, control,    kStage | kStorage | kSupervisor) \
  ROW(StepSum,          kNode,            kTensors, kDonor,    kAgain, state,      kStage) \
  ROW(FileChunk,        kNode,            kTensors, kProcess,  kAgain, control,    kStorage) \
  ROW(FileKept,         kStorage,         kLink,    kNobody,   kAgain, control,    kTracer) \
  ROW(ReplicaReport,    kNode,            kLink,    kReplica,  kAgain, control,    kMetrics) \
  ROW(EvaluationResult, kNobody,          kLink,    kNobody,   kAgain, control,    kMetrics | kSupervisor) \
  ROW(RunEvent,         kNode | kStorage, kLink,    kNobody,   kAgain, control,    kMetrics | kSupervisor) \
  ROW(Inject,           kSpawner,         kLink,    kNobody,   kOnce,  control,    kEveryActor)
// clang-format on
