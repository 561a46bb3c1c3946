// The run: every step the same, one millisecond between any two events.
#include "tests/runtime/trace/report/trace_bench.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::uint64_t kFirstGroup = 21;

std::uint32_t stage_of(std::uint64_t replica) { return replica < kFirstReplica + 2 ? 0 : 1; }
std::uint32_t slot_of(std::uint64_t replica) { return (replica - kFirstReplica) % 2; }
std::uint64_t replica_of(std::uint32_t stage, std::uint32_t microbatch) {
  return kFirstReplica + std::uint64_t{2} * stage + microbatch % 2;
}

TraceEvent event_of(TraceKind kind, std::uint64_t step, std::string_view detail = {}) {
  TraceEvent event;
  event.kind = kind;
  event.cause.term = Term{1};
  event.cause.step = StepId{step};
  event.set_detail(detail);
  return event;
}

}  // namespace

std::string node_of(std::uint64_t replica) { return compose("node", replica - kFirstReplica + 1); }

TraceBench::Which of_kind(TraceKind kind) {
  return [kind](const TraceEvent& event) { return event.kind == kind; };
}

TraceBench::Which of_step(TraceKind kind, std::uint64_t step) {
  return [kind, step](const TraceEvent& event) { return event.kind == kind && event.cause.step.value == step; };
}

TraceBench::TraceBench(BenchShape shape) : shape_(shape) {
  begin_run();
  for (std::uint64_t step = 0; step < shape_.steps; ++step) train(step);
}

void TraceBench::begin_run() {
  for (std::uint64_t process = 0; process <= 4; ++process) {
    const std::string name = process == 0 ? "spawner" : compose("node", process);
    TraceLife life;
    life.begin = {ProcessIncarnation{process}, 1'000'000'000, 5'000'000'000, 77, shape_.level, name};
    life.processes = {life.begin.process};
    life.is_whole = true;
    lives_[name] = life;
  }
  for (std::uint64_t replica = kFirstReplica; replica < kFirstReplica + 4; ++replica) {
    TraceEvent loaded = event_of(TraceKind::kDigest, 0, "loaded");
    loaded.incarnation = Incarnation{replica};
    loaded.cause.hop = stage_of(replica);
    loaded.bytes = 100 + stage_of(replica);
    record(node_of(replica), compose("stage/", stage_of(replica), "/", slot_of(replica)), loaded);
    TraceEvent added = event_of(TraceKind::kView, 0, "AddReplica");
    added.cause.hop = stage_of(replica);
    added.cause.attempt = slot_of(replica);
    added.subject = replica;
    added.bytes = replica - kFirstReplica + 1;
    append(added, now_ns_);
  }
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    TraceEvent appointed = event_of(TraceKind::kView, 0, "AppointGroup");
    appointed.cause.hop = stage;
    appointed.subject = kFirstGroup + stage;
    append(appointed, now_ns_);
  }
}

void TraceBench::train(std::uint64_t step) {
  TraceEvent plan = event_of(TraceKind::kPlan, step);
  plan.bytes = shape_.microbatches;
  record("spawner", "data_loader", plan);
  for (std::uint32_t microbatch = 0; microbatch < shape_.microbatches; ++microbatch) pass(step, microbatch);
  record("spawner", "data_loader", event_of(TraceKind::kSend, step, "AllAnswered"));
  reduce(step);
  commit(step);
}

void TraceBench::pass(std::uint64_t step, std::uint32_t microbatch) {
  const std::uint64_t first = replica_of(0, microbatch);
  const std::uint64_t last = replica_of(1, microbatch);
  const auto letter = [&](std::string_view word, std::uint64_t to, std::uint32_t hop, std::uint64_t parent) {
    TraceEvent event = event_of(TraceKind::kSend, step, word);
    event.cause.microbatch = MicrobatchId{microbatch};
    event.cause.hop = hop;
    event.cause.parent_span = parent;
    event.subject = to;
    event.bytes = 4096;
    return event;
  };
  for (std::uint32_t hop = 0; hop < 2; ++hop) {
    TraceEvent path = event_of(TraceKind::kPath, step);
    path.cause.microbatch = MicrobatchId{microbatch};
    path.cause.hop = hop;
    path.subject = replica_of(hop, microbatch);
    path.bytes = 2;
    record("spawner", "data_loader", path);
  }
  send("spawner", node_of(first), letter("Forward", first, 0, 0));
  const std::uint64_t forward = work(first, "forward", step, microbatch);
  send(node_of(first), node_of(last), letter("Forward", last, 1, forward));
  const std::uint64_t loss = work(last, "loss", step, microbatch);
  send(node_of(last), node_of(first), letter("Backward", first, 1, loss));
  const std::uint64_t backward = work(first, "backward", step, microbatch);
  send(node_of(first), "spawner", letter("Backward", first, 0, backward));
}

std::uint64_t TraceBench::work(std::uint64_t replica, const std::string& word, std::uint64_t step,
                               std::uint32_t microbatch) {
  const std::string actor = compose("stage/", stage_of(replica), "/", slot_of(replica));
  TraceEvent event = event_of(TraceKind::kStart, step, word);
  event.incarnation = Incarnation{replica};
  event.cause.microbatch = MicrobatchId{microbatch};
  event.cause.hop = stage_of(replica);
  event.span = ++spans_;
  record(node_of(replica), actor, event);
  event.kind = TraceKind::kEnd;
  event.set_detail({});
  record(node_of(replica), actor, event);
  if (word == "forward" || word == "apply") return event.span;
  event.kind = TraceKind::kAccumulate;
  event.span = 0;
  event.bytes = 1024;
  record(node_of(replica), actor, event);
  return spans_;
}

void TraceBench::reduce(std::uint64_t step) {
  for (const char* const order : {"Prepare", "Reduce", "Prepared"}) {
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
      TraceEvent phase = event_of(TraceKind::kPhase, step, order);
      phase.incarnation = Incarnation{kFirstGroup + stage};
      phase.cause.hop = stage;
      phase.cause.attempt = static_cast<std::uint32_t>(step) + 1;
      phase.cause.position = JournalPosition{position_};
      record("spawner", compose("sync_group/", stage), phase);
    }
  }
  for (std::uint64_t replica = kFirstReplica; replica < kFirstReplica + 4; ++replica) {
    TraceEvent manifest = event_of(TraceKind::kSend, step, "Manifest");
    manifest.subject = replica;
    manifest.cause.hop = stage_of(replica);
    send(node_of(replica), "spawner", manifest);
  }
}

void TraceBench::commit(std::uint64_t step) {
  TraceEvent commit = event_of(TraceKind::kCommit, step);
  commit.subject = 1024 * shape_.microbatches;
  commit.bytes = 5000 + step;
  append(commit, now_ns_);
  commit.cause.position = JournalPosition{position_};
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    TraceEvent part = commit;
    part.kind = TraceKind::kStageCommit;
    part.cause.hop = stage;
    part.cause.attempt = static_cast<std::uint32_t>(step) + 1;
    part.subject = kFirstGroup + stage;
    part.bytes = 900 + step;
    record("spawner", "supervisor", part);
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      part.kind = TraceKind::kManifest;
      part.subject = replica_of(stage, slot);
      part.bytes = 0;
      part.detail.fill('\0');
      for (std::uint32_t index = slot; index < shape_.microbatches; index += 2, ++part.bytes) {
        part.detail[index / 8] = static_cast<char>(part.detail[index / 8] | 1U << index % 8);
      }
      record("spawner", "supervisor", part);
    }
  }
  for (std::uint64_t replica = kFirstReplica; replica < kFirstReplica + 4; ++replica) {
    TraceEvent digest = event_of(TraceKind::kDigest, step, "state");
    digest.incarnation = Incarnation{replica};
    digest.cause.hop = stage_of(replica);
    digest.bytes = 7000 + 10 * step + stage_of(replica);
    record(node_of(replica), compose("stage/", stage_of(replica), "/", slot_of(replica)), digest);
  }
}

std::uint64_t TraceBench::append(TraceEvent entry, std::int64_t time_ns) {
  entry.cause.position = JournalPosition{++position_};
  entry.time_ns = time_ns;
  record("spawner", "supervisor", entry);
  for (std::uint64_t replica = kFirstReplica; replica < kFirstReplica + 4; ++replica) {
    entry.incarnation = Incarnation{replica};
    record(node_of(replica), compose("stage/", stage_of(replica), "/", slot_of(replica)), entry);
  }
  return position_;
}

void TraceBench::send(const std::string& from, const std::string& to, TraceEvent letter) {
  const std::uint64_t process = lives_.at(from).begin.process.value;
  letter.span = (process == 0 ? std::uint64_t{1} << 63U : process << 40U) | ++spans_;
  record(from, "router", letter);
  letter.kind = TraceKind::kReceive;
  record(to, "router", letter);
}

void TraceBench::record(const std::string& life_name, const std::string& actor, TraceEvent event) {
  if (!is_traced(event.kind, shape_.level)) return;
  tick();
  if (event.time_ns == 0) event.time_ns = now_ns_;
  event.actor = name_of(life_name, actor);
  life(life_name).events.push_back(event);
}

ActorName TraceBench::name_of(const std::string& life_name, const std::string& actor) {
  auto& names = life(life_name).names;
  const auto known = std::ranges::find_if(names, [&](const auto& name) { return name.second == actor; });
  if (known != names.end()) return known->first;
  const ActorName number{static_cast<std::uint16_t>(names.size())};
  names[number] = actor;
  return number;
}

TraceEvent& TraceBench::event(const std::string& name, const Which& which, std::size_t index) {
  for (TraceEvent& event : life(name).events) {
    if (which(event) && index-- == 0) return event;
  }
  throw std::logic_error("no such event in the trace of " + name);
}

void TraceBench::drop(const std::string& name, const Which& which, std::size_t index) {
  const TraceEvent* const dropped = &event(name, which, index);
  auto& events = life(name).events;
  events.erase(events.begin() + (dropped - events.data()));
}

void TraceBench::cut(const std::string& name, std::int64_t time_ns) {
  std::erase_if(life(name).events, [&](const TraceEvent& event) { return event.time_ns >= time_ns; });
  life(name).is_whole = false;
}

RunTrace TraceBench::trace() const {
  std::vector<TraceLife> lives;
  for (const auto& [name, life] : lives_) lives.push_back(life);
  return merge_lives(std::move(lives));
}

}  // namespace shoal
