// Random, fully filled messages for the codec's tests.
#include "tests/messages/samples.h"

#include <cstring>
#include <limits>

namespace shoal::samples {
namespace {

using Random = std::mt19937_64;

template <class T>
T id(Random& random) {
  using Value = decltype(T{}.value);
  return T{static_cast<Value>(random() | 1)};
}

std::uint32_t small(Random& random) { return static_cast<std::uint32_t>(random() % 1000 + 1); }

double real(Random& random) {
  const std::uint64_t bits = random();
  double out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out != out ? std::numeric_limits<double>::infinity() : out;  // NaN equals nothing; it has its own test
}

std::string text(Random& random) { return "text " + std::to_string(random()); }

DeviceUse device_use(Random& random) {
  const DevicePeak peak{random(), small(random), random()};
  return {random(), random(), random(), random(), random(), small(random), peak};
}

Cause cause(Random& random) {
  return {id<RunId>(random),
          id<Branch>(random),
          id<Term>(random),
          id<JournalPosition>(random),
          id<StepId>(random),
          id<MicrobatchId>(random),
          small(random),
          small(random),
          random()};
}

OrderId order(Random& random) {
  return {id<RunId>(random),
          id<Branch>(random),
          id<Term>(random),
          id<StageId>(random),
          id<StepId>(random),
          Epoch{id<Incarnation>(random), small(random)},
          RoundId{small(random), random()}};
}

std::vector<ManifestEntry> entries(Random& random) {
  return {{id<MicrobatchId>(random), random(), real(random), std::nullopt},
          {id<MicrobatchId>(random), random(), real(random), text(random)}};
}

std::vector<MemberManifest> manifests(Random& random) {
  return {{id<Incarnation>(random), entries(random)}, {id<Incarnation>(random), {}}};
}

std::vector<TensorNorm> norms(Random& random) { return {{text(random), real(random)}, {text(random), real(random)}}; }

std::vector<RoundShare> shares(Random& random) {
  return {{id<Incarnation>(random), random()}, {id<Incarnation>(random), 0}};
}

CommitRound commit_round(Random& random) {
  CommitRound round{id<StageId>(random),
                    id<StepId>(random),
                    RoundId{small(random), random()},
                    Epoch{id<Incarnation>(random), small(random)},
                    random(),
                    shares(random),
                    random()};
  round.lost = {id<PlaceId>(random), id<PlaceId>(random)};
  round.trained_again_from = id<PlaceId>(random);
  return round;
}

Commit commit(Random& random) {
  Commit out;
  out.step = id<StepId>(random);
  out.stages = {{id<StageId>(random), Epoch{id<Incarnation>(random), small(random)}, random(), manifests(random)}};
  out.norms = norms(random);
  out.gradient_norm = real(random);
  out.loss_sum = real(random);
  out.token_count = random();
  out.learning_rate = real(random);
  out.clip_scale = real(random);
  out.optimizer_step = random();
  out.skip = SkipStep{text(random), id<MicrobatchId>(random)};
  out.checkpoint_by = {id<Incarnation>(random), id<Incarnation>(random)};
  out.is_last = true;
  out.step_ms = small(random) / 8.0;
  out.is_partly_timed = true;
  return out;
}

void add_pipeline(Random& random, std::vector<MessageBody>& out) {
  out.push_back(Forward{cause(random),
                        id<Incarnation>(random),
                        random(),
                        Purpose::kEvaluate,
                        {id<Incarnation>(random), id<Incarnation>(random)},
                        tensor(random, DType::kFloat32, {2, 3, 4}),
                        tensor(random, DType::kInt32, {2, 3})});
  out.push_back(Backward{cause(random),
                         id<Incarnation>(random),
                         random(),
                         Purpose::kTrain,
                         {{id<Incarnation>(random), 1.5F, 2.5F, 3.5F}},
                         tensor(random, DType::kFloat32, {5, 1}),
                         real(random),
                         random()});
  out.push_back(Backward{});
  out.push_back(Refusal{cause(random), id<Incarnation>(random), Purpose::kEvaluate, RefusalReason::kUnknownReplica});
  out.push_back(Ask{cause(random), id<Incarnation>(random), Purpose::kEvaluate});
  out.push_back(AskAnswer{cause(random), id<Incarnation>(random), Purpose::kEvaluate, AskState::kUnknown});
}

void add_sync(Random& random, std::vector<MessageBody>& out) {
  const Epoch epoch{id<Incarnation>(random), small(random)};
  out.push_back(Open{order(random)});
  out.push_back(Zero{order(random)});
  out.push_back(Prepare{order(random), epoch});
  out.push_back(Reduce{order(random), {id<Incarnation>(random), id<Incarnation>(random)}, random(), epoch});
  out.push_back(Manifest{order(random),
                         id<Incarnation>(random),
                         entries(random),
                         random(),
                         CollectiveOffer{text(random), text(random), epoch, small(random)},
                         {MicrobatchId{small(random)}, MicrobatchId{small(random)}}});
  out.push_back(Reduced{order(random), id<Incarnation>(random), random(), norms(random)});
  out.push_back(
      Part{order(random), id<Incarnation>(random), small(random), small(random), tensor(random, DType::kInt64, {7})});
  out.push_back(PartsSent{order(random), id<Incarnation>(random), small(random), tensor(random, DType::kUint8, {1})});
  out.push_back(MissingParts{order(random),
                             id<Incarnation>(random),
                             id<Incarnation>(random),
                             small(random),
                             {{small(random), small(random)}, {small(random), small(random)}}});
  out.push_back(
      Prepared{order(random), id<JournalPosition>(random), random(), manifests(random), norms(random), shares(random)});
  out.push_back(Missing{order(random), id<Incarnation>(random), {id<MicrobatchId>(random), id<MicrobatchId>(random)}});
  out.push_back(Progress{order(random), id<Incarnation>(random), small(random), random(), text(random)});
  out.push_back(AllAnswered{id<Branch>(random), id<StepId>(random)});
  out.push_back(AskHolders{id<StageId>(random), id<Branch>(random), id<StepId>(random)});
  out.push_back(Holders{id<StageId>(random),
                        id<Branch>(random),
                        id<StepId>(random),
                        {{id<MicrobatchId>(random), id<Incarnation>(random)}}});
}

void add_cluster(Random& random, std::vector<MessageBody>& out) {
  const auto process = id<ProcessIncarnation>(random);
  out.push_back(Hello{small(random), id<RunId>(random), id<Term>(random), process, ProcessRole::kStorage, text(random),
                      true, random()});
  out.push_back(
      Join{text(random),
           "paced:50",
           small(random),
           random(),
           process,
           ProcessRole::kStorage,
           {text(random), 65535},
           random(),
           {text(random)},
           {{id<StageId>(random), id<ReplicaId>(random), id<Incarnation>(random), id<Branch>(random), random()}},
           {random(), random(), small(random), random(), random(), random(), true, random()}});
  out.push_back(Welcome{random(), process, id<RunId>(random), id<Branch>(random), id<Term>(random),
                        id<JournalPosition>(random), text(random)});
  out.push_back(JoinRefused{random(), JoinRefusal::kRunIsOver, text(random)});
  out.push_back(Peers{id<RunId>(random),
                      id<Term>(random),
                      random(),
                      {{process, ProcessRole::kStorage, text(random), {text(random), 1}}}});
  out.push_back(Revocations{random(), {{text(random), {text(random), text(random)}}, {text(random), {}}}});
  out.push_back(SpawnStage{id<StageId>(random), id<ReplicaId>(random), id<Incarnation>(random), id<Branch>(random),
                           random(), random(), true, id<Incarnation>(random), id<JournalPosition>(random)});
  out.push_back(StageReady{id<StageId>(random), id<Incarnation>(random), process, random(), random()});
  out.push_back(StageEnded{id<StageId>(random), id<Incarnation>(random), text(random), {}});
  out.push_back(StageEnded{id<StageId>(random), id<Incarnation>(random), text(random),
                           ComputedMicrobatch{id<StepId>(random), id<MicrobatchId>(random)}});
  out.push_back(EndStage{id<StageId>(random), id<Incarnation>(random), text(random)});
  out.push_back(
      Heartbeat{process,
                random(),
                static_cast<std::int64_t>(random()),
                {{text(random), random(), text(random), small(random), small(random), text(random), random()}},
                device_use(random)});
  out.push_back(HeartbeatEcho{process, random(), -5, static_cast<std::int64_t>(random()), 7});
  out.push_back(PeerUnreachable{process, id<ProcessIncarnation>(random), random()});
  out.push_back(PeerRefused{process, ProcessRole::kStorage, text(random)});
  out.push_back(Inject{random(),
                       {process, Role::kControl, id<StageId>(random), id<Incarnation>(random)},
                       true,
                       InjectKind::kFreeze,
                       random()});
  out.push_back(EndProcess{text(random), small(random), true});
  out.push_back(LeaveRun{text(random)});
  out.push_back(Leaving{process, text(random)});
  out.push_back(ProcessLost{process, text(random)});
}

void add_storage_and_metrics(Random& random, std::vector<MessageBody>& out) {
  out.push_back(SaveShard{id<RunId>(random), id<Branch>(random), random(), random(), random(), id<StageId>(random),
                          small(random), id<Incarnation>(random), tensor(random, DType::kUint8, {99}), random(),
                          random()});
  out.push_back(
      FetchShard{id<Branch>(random), random(), id<StageId>(random), id<Incarnation>(random), random(), random()});
  out.push_back(CheckpointSaved{id<Branch>(random), random(), text(random), random(), real(random)});
  out.push_back(CheckpointFailed{id<Branch>(random), random(), text(random)});
  out.push_back(SaveState{id<Branch>(random), random(), id<StageId>(random), id<Incarnation>(random)});
  out.push_back(FetchState{id<Incarnation>(random),
                           random(),
                           {text(random), text(random)},
                           id<Incarnation>(random),
                           id<Branch>(random),
                           random(),
                           random()});
  out.push_back(StateImage{id<Incarnation>(random), random(), tensor(random, DType::kUint8, {1}),
                           id<Incarnation>(random), random(), random(), random(), random()});
  out.push_back(StepSum{id<Incarnation>(random), id<Incarnation>(random), id<Branch>(random), id<StepId>(random),
                        random(), tensor(random, DType::kInt64, {3})});
  out.push_back(FileChunk{text(random), FileKind::kTrace, random(), random(), tensor(random, DType::kUint8, {9}),
                          id<ProcessIncarnation>(random)});
  out.push_back(FileKept{FileKind::kTrace, random()});
  out.push_back(StateProgress{id<Branch>(random), random(), id<StageId>(random), id<Incarnation>(random),
                              id<Incarnation>(random), true, random(), random(), small(random) / 8.0});
  out.push_back(StateUnavailable{id<Incarnation>(random), random(), text(random), id<Incarnation>(random)});
  out.push_back(
      ReplicaReport{id<Branch>(random),
                    id<StepId>(random),
                    id<StageId>(random),
                    id<Incarnation>(random),
                    {real(random), real(random), real(random), real(random), real(random), real(random), real(random)},
                    {random(), random(), random(), random(), random(), random()},
                    small(random),
                    small(random),
                    random(),
                    {{id<MicrobatchId>(random), id<Incarnation>(random), id<Incarnation>(random)},
                     {id<MicrobatchId>(random), id<Incarnation>(random), id<Incarnation>(random)}},
                    device_use(random)});
  out.push_back(
      EvaluationResult{id<Branch>(random), random(), real(random), random(), random(), true, random(), random()});
  out.push_back(RunEvent{RunEventKind::kTraining, text(random), text(random), random()});
}

}  // namespace

TensorBlob tensor(Random& random, DType dtype, std::vector<std::int64_t> shape) {
  std::size_t bytes = size_of(dtype);
  for (const auto extent : shape) bytes *= static_cast<std::size_t>(extent);
  auto buffer = std::make_shared<AlignedBuffer>(bytes);
  for (std::size_t i = 0; i < bytes; ++i) buffer->data()[i] = static_cast<std::byte>(random());
  return {dtype, std::move(shape), std::move(buffer)};
}

std::vector<JournalEntry> every_entry(Random& random) {
  const std::vector<JournalBody> bodies{AddReplica{id<StageId>(random), id<ReplicaId>(random), id<Incarnation>(random),
                                                   id<ProcessIncarnation>(random), random()},
                                        RemoveReplica{id<StageId>(random), id<Incarnation>(random), text(random)},
                                        AppointGroup{id<StageId>(random), id<Incarnation>(random)},
                                        commit(random),
                                        Commit{},
                                        FinishRun{text(random)},
                                        Quarantine{id<StepId>(random), id<MicrobatchId>(random), text(random)},
                                        commit_round(random)};
  std::vector<JournalEntry> out;
  for (const auto& body : bodies) {
    out.push_back({id<JournalPosition>(random), id<Branch>(random), id<Term>(random), body});
  }
  return out;
}

JournalSnapshot snapshot(Random& random) {
  ViewState view;
  view.position = id<JournalPosition>(random);
  view.branch = Branch{small(random)};
  view.committed_steps = (random() >> 1U) + 9;
  view.start = random() | 1;
  view.held_until = random() | 1;
  view.is_at_last_commit = true;
  view.skips_in_a_row = small(random);
  const auto member = [&random](std::uint64_t incarnation) {
    return ReplicaMember{Incarnation{incarnation}, id<ReplicaId>(random), id<ProcessIncarnation>(random)};
  };
  view.stages = {{{member(3), member(8)}, view.position}, {}, {{member(5)}, JournalPosition{1}}};
  view.groups = {{StageId{0}, id<Incarnation>(random)}, {StageId{2}, id<Incarnation>(random)}};
  view.rounds = {{StageId{0}, {0, random()}}, {StageId{0}, {4, random()}}, {StageId{1}, {0, random()}}};
  view.totals = {{2, random(), random(), true}, {view.committed_steps, random(), random(), false}};
  view.lost = {{{random(), 4, 10}, {random(), 6, 20}}, small(random) + 30, random()};
  view.quarantined = {{StepId{4}, MicrobatchId{1}}, {StepId{4}, MicrobatchId{3}}, {StepId{9}, MicrobatchId{0}}};
  view.requeued.forgotten = 3;
  view.requeued.taken = {{random(), PlaceId{20}, 3, {PlaceId{1}, PlaceId{9}}, {PlaceId{0}, PlaceId{6}}},
                         {random(), PlaceId{22}, 5, {PlaceId{20}}, {PlaceId{0}}}};
  view.ends = {7, random() | 16};
  view.finished = text(random);
  return {view,
          Branch{view.branch.value + 1},
          {{3, random(), true}, {8, random(), false}},
          {{6, {id<Incarnation>(random), id<Incarnation>(random)}}, {9, {id<Incarnation>(random)}}}};
}

std::vector<MessageBody> every_body(Random& random) {
  std::vector<MessageBody> out;
  add_pipeline(random, out);
  add_sync(random, out);
  add_cluster(random, out);
  add_storage_and_metrics(random, out);
  out.push_back(JournalEntries{id<RunId>(random), id<Term>(random), every_entry(random)});
  out.push_back(JournalEntries{id<RunId>(random), id<Term>(random), every_entry(random), snapshot(random).view});
  out.push_back(FetchJournal{id<ProcessIncarnation>(random), id<JournalPosition>(random)});
  return out;
}

}  // namespace shoal::samples
