// Every piece records what the actors of a real run record, in the same order.
#include "tests/protocol/observed/script.h"

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal::observed {
namespace {

TraceEvent event_of(TraceKind kind, const Cause& cause, std::string_view detail = {}) {
  TraceEvent event;
  event.kind = kind;
  event.cause = cause;
  event.set_detail(detail);
  return event;
}

std::uint32_t stage_of(std::uint64_t replica) { return static_cast<std::uint32_t>(replica / 10 - 1); }
std::uint32_t slot_of(std::uint64_t replica) { return static_cast<std::uint32_t>(replica % 10); }

}  // namespace

Script::Script(Shape shape) : shape_(shape), counters_(shape.stages), began_(shape.stages), done_(shape.stages) {
  processes_.push_back(0);
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    done_[stage].resize(shape.replicas);
    for (std::uint32_t slot = 0; slot < shape.replicas; ++slot) processes_.push_back(replica(stage, slot));
  }
  for (const std::uint64_t process : processes_) {
    ProcessLife life;
    life.name = process == 0 ? "spawner" : compose("node", process);
    life.processes = {ProcessIncarnation{process}};
    life.level = TraceLevel::kAll;
    life.is_whole = true;
    trace_.lives.push_back(life);
    TracerSettings settings;
    settings.level = TraceLevel::kAll;
    settings.ring_capacity = 2;
    tracers_.push_back(std::make_unique<Tracer>(settings, std::make_shared<SteadyClock>()));
    tracers_.back()->set_process(ProcessIncarnation{process}, Term{1});
  }
}

std::string Script::stage_name(std::uint64_t replica) {
  return compose("stage/", stage_of(replica), "/", slot_of(replica));
}

std::vector<std::uint64_t> Script::members(std::uint32_t stage) const {
  std::vector<std::uint64_t> all;
  for (std::uint32_t slot = 0; slot < shape_.replicas; ++slot) {
    if (!gone_.contains(replica(stage, slot))) all.push_back(replica(stage, slot));
  }
  return all;
}

Cause Script::about(std::uint32_t hop, std::uint32_t microbatch) const {
  Cause cause;
  cause.term = Term{1};
  cause.position = JournalPosition{position_};
  cause.step = StepId{step_};
  cause.microbatch = MicrobatchId{microbatch};
  cause.hop = hop;
  return cause;
}

Cause Script::order(std::uint32_t stage) const {
  Cause cause = about(stage, 0);
  cause.position = {};
  cause.attempt = counters_[stage];
  return cause;
}

void Script::record(std::uint64_t process, const std::string& actor, std::uint64_t incarnation, TraceEvent event) {
  const auto at = std::ranges::find(processes_, process) - processes_.begin();
  const TracedActor name{trace_.lives[at].name, actor};
  auto known = std::ranges::find(trace_.actors, name);
  if (known == trace_.actors.end()) known = trace_.actors.insert(known, name);
  now_ns_ += 1000;
  event.incarnation = Incarnation{incarnation};
  trace_.lives[at].end_ns = now_ns_;
  trace_.events.push_back(
      {now_ns_, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(known - trace_.actors.begin()), event});
}

void Script::letter(std::uint64_t from, std::uint64_t to, const std::string& word, const Cause& cause,
                    std::uint64_t subject) {
  TraceEvent sent = event_of(TraceKind::kSend, cause, word);
  const auto at = std::ranges::find(processes_, from) - processes_.begin();
  sent.span = tracers_[at]->new_span();
  sent.subject = subject;
  record(from, "router", 0, sent);
  sent.kind = TraceKind::kReceive;
  record(to, "router", 0, sent);
}

void Script::work(std::uint64_t replica, const std::string& word, std::uint32_t microbatch) {
  const auto at = std::ranges::find(processes_, replica) - processes_.begin();
  TraceEvent event = event_of(TraceKind::kStart, about(stage_of(replica), microbatch), word);
  event.span = tracers_[at]->new_span();
  record(replica, stage_name(replica), replica, event);
  event.kind = TraceKind::kEnd;
  event.detail.fill('\0');
  record(replica, stage_name(replica), replica, event);
}

void Script::accumulate(std::uint64_t replica, std::uint32_t microbatch) {
  record(replica, stage_name(replica), replica, event_of(TraceKind::kAccumulate, about(stage_of(replica), microbatch)));
}

void Script::drop(std::uint64_t replica, const std::string& what, std::uint32_t microbatch) {
  record(replica, stage_name(replica), replica, event_of(TraceKind::kDrop, about(stage_of(replica), microbatch), what));
}

void Script::read(std::uint32_t stage, std::uint32_t slot, const TraceEvent& entry) {
  record(replica(stage, slot), stage_name(replica(stage, slot)), replica(stage, slot), entry);
}

void Script::all_read(const TraceEvent& entry) {
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
    for (const std::uint64_t member : members(stage)) read(stage, slot_of(member), entry);
  }
}

void Script::append(const std::function<void(TraceEvent&)>& fill) {
  ++position_;
  TraceEvent entry = event_of(TraceKind::kView, about(0, 0));
  entry.cause.step = {};
  fill(entry);
  record(0, "supervisor", 0, entry);
  all_read(entry);
}

void Script::begin() {
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
    for (const std::uint64_t member : members(stage)) {
      record(member, stage_name(member), member, event_of(TraceKind::kSpawn, about(stage, 0)));
    }
  }
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
    for (const std::uint64_t member : members(stage)) {
      append([&](TraceEvent& entry) {
        entry.set_detail("AddReplica");
        entry.cause.hop = stage;
        entry.cause.attempt = slot_of(member);
        entry.subject = entry.bytes = member;
      });
    }
  }
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
    append([&](TraceEvent& entry) {
      entry.set_detail("AppointGroup");
      entry.cause.hop = stage;
      entry.subject = group(stage);
    });
  }
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) say(stage, "Open");
}

void Script::say(std::uint32_t stage, const std::string& word) {
  const bool is_new = word != "Reduce";
  if (is_new) {
    ++counters_[stage];
    began_[stage] = position_;
  }
  for (const std::uint64_t member : members(stage)) tell(stage, word, order(stage), member);
}

void Script::tell(std::uint32_t stage, const std::string& word, const Cause& order, std::uint64_t member) {
  TraceEvent said = event_of(TraceKind::kPhase, order, word);
  said.subject = member;
  record(0, compose("sync_group/", stage), group(stage), said);
  letter(0, member, word, order, member);
}

void Script::plan(std::uint32_t microbatch) {
  TraceEvent planned = event_of(TraceKind::kPlan, about(0, 0));
  planned.bytes = shape_.microbatches;
  record(0, "data_loader", 0, planned);
  record(0, "data_loader", 0, event_of(TraceKind::kPath, about(0, microbatch)));
}

void Script::compute(std::uint32_t microbatch, std::uint32_t slot) {
  plan(microbatch);
  letter(0, replica(0, slot), "Forward", about(0, microbatch), replica(0, slot));
  for (std::uint32_t stage = 0; stage + 1 < shape_.stages; ++stage) {
    work(replica(stage, slot), "forward", microbatch);
    letter(replica(stage, slot), replica(stage + 1, slot), "Forward", about(stage + 1, microbatch),
           replica(stage + 1, slot));
  }
  for (std::uint32_t stage = shape_.stages; stage-- > 0;) {
    work(replica(stage, slot), stage + 1 == shape_.stages ? "loss" : "backward", microbatch);
    accumulate(replica(stage, slot), microbatch);
    done_[stage][slot].push_back(microbatch);
    const std::uint64_t to = stage == 0 ? 0 : replica(stage - 1, slot);
    letter(replica(stage, slot), to, "Backward", about(stage, microbatch), to == 0 ? replica(0, slot) : to);
  }
}

void Script::answer_prepare(std::uint32_t stage) {
  for (const std::uint64_t member : members(stage)) letter(member, 0, "Manifest", order(stage), member);
}

void Script::reduce(std::uint32_t stage) {
  say(stage, "Reduce");
  for (const std::uint64_t member : members(stage)) {
    work(member, "contribute", 0);
    for (const std::uint64_t other : members(stage)) {
      if (other != member) letter(member, other, "Part", order(stage), other);
    }
  }
  for (const std::uint64_t member : members(stage)) {
    work(member, "adopt", 0);
    TraceEvent digest = event_of(TraceKind::kDigest, about(stage, 0), "sum");
    digest.subject = group(stage);
    digest.cause.attempt = counters_[stage];
    record(member, stage_name(member), member, digest);
    letter(member, 0, "Reduced", order(stage), member);
  }
}

void Script::agree() {
  Cause all = about(0, 0);
  record(0, "data_loader", 0, event_of(TraceKind::kSend, all, "AllAnswered"));
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
    say(stage, "Prepare");
    answer_prepare(stage);
    reduce(stage);
    TraceEvent vote = event_of(TraceKind::kPhase, order(stage), "Prepared");
    vote.cause.position = JournalPosition{began_[stage]};
    record(0, compose("sync_group/", stage), group(stage), vote);
  }
}

void Script::commit() {
  ++position_;
  TraceEvent entry = event_of(TraceKind::kCommit, about(0, 0));
  entry.bytes = 7 + step_;
  record(0, "supervisor", 0, entry);
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
    TraceEvent part = event_of(TraceKind::kStageCommit, about(stage, 0));
    part.cause.attempt = counters_[stage];
    part.subject = group(stage);
    record(0, "supervisor", 0, part);
    for (const std::uint64_t member : members(stage)) {
      part.kind = TraceKind::kManifest;
      part.subject = member;
      part.detail.fill('\0');
      part.bytes = done_[stage][slot_of(member)].size();
      for (const std::uint32_t microbatch : done_[stage][slot_of(member)]) {
        part.detail[microbatch / 8] = static_cast<char>(part.detail[microbatch / 8] | 1 << microbatch % 8);
      }
      record(0, "supervisor", 0, part);
    }
  }
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
    for (const std::uint64_t member : members(stage)) {
      read(stage, slot_of(member), entry);
      work(member, "apply", 0);
    }
    for (auto& slot : done_[stage]) slot.clear();
  }
  ++step_;
}

void Script::step() {
  for (std::uint32_t i = 0; i < shape_.microbatches; ++i) {
    std::uint32_t slot = i % shape_.replicas;
    while (gone_.contains(replica(0, slot))) slot = (slot + 1) % shape_.replicas;
    compute(i, slot);
  }
  agree();
  commit();
}

void Script::contribute_to_round() {
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
    for (const std::uint64_t member : members(stage)) work(member, "contribute_round", 0);
  }
}

void Script::agree_on_round(std::uint32_t stage, std::uint64_t number, const std::set<std::uint64_t>& late) {
  const std::string words = compose(" round ", number, ".0");
  Cause order = about(stage, 0);
  order.position = {};
  order.attempt = ++round_counter_;
  const std::uint64_t began = position_;
  for (const std::uint64_t member : members(stage)) tell(stage, "Prepare" + words, order, member);
  std::vector<std::uint64_t> in = members(stage);
  std::erase_if(in, [&](std::uint64_t member) { return late.contains(member); });
  for (const std::uint64_t member : in) letter(member, 0, "Manifest" + words, order, member);
  for (const std::uint64_t member : in) tell(stage, "Reduce" + words, order, member);
  for (const std::uint64_t member : in) {
    for (const std::uint64_t other : in) {
      if (other != member) letter(member, other, "Part" + words, order, other);
    }
    letter(member, 0, "Reduced" + words, order, member);
  }
  TraceEvent vote = event_of(TraceKind::kPhase, order, "Prepared" + words);
  vote.cause.position = JournalPosition{began};
  record(0, compose("sync_group/", stage), group(stage), vote);
}

void Script::commit_round(std::uint32_t stage, std::uint64_t number) {
  append([&](TraceEvent& entry) {
    entry.set_detail("CommitRound");
    entry.cause.hop = stage;
    entry.cause.step = StepId{step_};
    entry.subject = number;
  });
}

void Script::apply_round() {
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
    for (const std::uint64_t member : members(stage)) work(member, "apply_round", 0);
  }
}

void Script::round(std::uint64_t number, const std::set<std::uint64_t>& late) {
  contribute_to_round();
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) agree_on_round(stage, number, late);
  for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) commit_round(stage, number);
  for (const std::uint64_t member : late) {
    letter(members(stage_of(member)).front(), member, "StepSum", about(0, 0), member);
  }
  apply_round();
}

void Script::remove(std::uint32_t stage, std::uint32_t slot) {
  append([&](TraceEvent& entry) {
    entry.set_detail("RemoveReplica");
    entry.cause.hop = stage;
    entry.subject = replica(stage, slot);
  });
  gone_.insert(replica(stage, slot));
  done_[stage][slot].clear();
}

}  // namespace shoal::observed
