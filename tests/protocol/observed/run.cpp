// Gives each event to the actor that it is of. What an actor may do is in replica_rules.h, group.h, requests.h and
// entries.cpp.
#include "tests/protocol/observed/run.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "runtime/base/compose.h"

namespace shoal::observed {
namespace {

// Tells the orders of a sync group, the one to sum among them.
bool is_group_order(Kind kind) {
  return kind == Kind::kOpen || kind == Kind::kZero || kind == Kind::kPrepare || kind == Kind::kReduce;
}

// Names the letters that change a replica, or show in its trace.
bool is_read_by_replica(Kind kind) {
  return kind == Kind::kForward || kind == Kind::kBackward || kind == Kind::kAsk || kind == Kind::kPart ||
         is_group_order(kind) || kind == Kind::kStepSum;
}

bool is_entry(TraceKind kind) { return kind == TraceKind::kView || kind == TraceKind::kCommit; }

auto planned_name_of(const Cause& cause) { return std::tuple(cause.branch, cause.step, cause.microbatch.value); }

std::vector<std::int64_t> ends_of_routers(const RunTrace& trace) {
  std::vector<std::int64_t> ends(trace.lives.size(), 0);
  for (const TracedEvent& traced : trace.events) {
    if (trace.actor_of(traced) == "router") ends[traced.life] = std::max(ends[traced.life], traced.time_ns);
  }
  return ends;
}

}  // namespace

Run::Run(const RunTrace& trace)
    : trace_(trace),
      journal_(trace),
      standings_(journal_),
      router_end_ns_(ends_of_routers(trace)),
      requests_(standings_) {
  for (const TracedEvent& traced : trace.events) {
    if (traced.event.kind == TraceKind::kPlan) {
      shape_.microbatches = std::max(shape_.microbatches, static_cast<std::uint32_t>(traced.event.bytes));
    }
    shape_.has_rounds |=
        traced.event.detail_text() == "contribute_round" || traced.event.detail_text() == "CommitRound";
  }
}

std::optional<std::string> Run::why_unknown() const {
  if (!trace_.is_full()) return "trace.level was not `all` throughout";
  const auto has_lost = [](const ProcessLife& life) { return life.dropped > 0; };
  if (std::ranges::any_of(trace_.lives, has_lost)) return "a process recorded more than its ring held";
  if (shape_.microbatches > kMicrobatchesMax) return compose("steps of more than ", kMicrobatchesMax, " microbatches");
  for (const auto& [position, entry] : journal_.entries()) {
    std::set<ProcessIncarnation> processes;
    for (const auto& [replica, member] : standings_.at(position).members) {
      if (!processes.insert(member.process).second) return "a process served two stages, whose letters are in no trace";
    }
  }
  return std::nullopt;
}

Verdict Run::judge() {
  Verdict verdict;
  verdict.unknown = why_unknown();
  if (verdict.unknown) return verdict;
  verdict.objection = standings_.gap();
  for (std::size_t index = 0; index < trace_.events.size() && !verdict.objection; ++index) {
    verdict.objection = take(trace_.events[index]);
    if (verdict.objection) verdict.event = index;
    ++verdict.judged;
    for (const auto& [incarnation, known] : replicas_) {
      verdict.states_max = std::max(verdict.states_max, known.second.state_count());
    }
  }
  return verdict;
}

std::optional<Objection> Run::take(const TracedEvent& traced) {
  const std::string& actor = trace_.actor_of(traced);
  if (actor == "router") return take_of_router(traced);
  if (actor.starts_with("stage/")) return take_of_stage(traced);
  if (actor.starts_with("sync_group/")) return say_of_group(traced);
  if (actor == "data_loader") return take_of_loader(traced);
  if (actor == "supervisor" && is_entry(traced.event.kind)) return append(traced);
  return std::nullopt;
}

std::optional<Objection> Run::take_of_stage(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  if (event.kind == TraceKind::kSpawn) {
    const std::uint32_t stage = event.cause.hop;
    const bool is_last = stage + 1 == journal_.stage_count_of(event.incarnation).value_or(stage + 1);
    const Setting setting{&standings_,        event.incarnation,   StageId{stage},
                          event.cause.branch, shape_.microbatches, is_last,
                          event.cause.term,   shape_.has_rounds,   &shares_};
    requests_.forget(traced.life, StageId{stage});
    replicas_.try_emplace(event.incarnation, traced.life, Replica(setting));
    return std::nullopt;
  }
  const auto found = replicas_.find(event.incarnation);
  if (found == replicas_.end()) return Objection{"P-25", "a replica acts before it was started"};
  Replica& replica = found->second.second;
  if (!is_entry(event.kind)) {
    if (event.kind == TraceKind::kStart && event.detail_text() == "zero") {
      requests_.forget(traced.life, replica.setting().stage);
    }
    return replica.show(event);
  }
  const TracedEntry read = entry_of(traced);
  if (read.position > end_) return Objection{"P-2", compose("reads entry ", read.position, ", which is not written")};
  const TracedEntry& written = journal_.entries().at(read.position);
  const bool is_written = read.kind == written.kind && read.subject == written.subject && read.step == written.step &&
                          read.branch == written.branch && read.content == written.content;
  if (!is_written) return Objection{"S-2", compose("reads another entry ", read.position, " than the journal has")};
  return replica.read(written);
}

std::optional<Objection> Run::take_of_router(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  if (event.kind == TraceKind::kSend) return send(traced);
  if (event.kind == TraceKind::kReceive) return receive(traced);
  if (event.kind == TraceKind::kLink && event.detail_text().starts_with("lost")) {
    requests_.lose_link(traced.life, ProcessIncarnation{event.subject}, end_);
  }
  if (event.kind != TraceKind::kDrop || event.span == 0) return std::nullopt;
  for (auto& [incarnation, known] : replicas_) {
    if (known.first == traced.life) known.second.lose(event.span);
  }
  return std::nullopt;
}

// S-4, S-7: what nobody sent is believed by nobody.
std::optional<Objection> Run::receive(const TracedEvent& traced) {
  Letter letter = letter_of(traced.event);
  if (letter.span == 0 || letter.kind == Kind::kOther) return std::nullopt;
  const auto sent = sent_.find(letter.span);
  const bool is_as_sent = sent != sent_.end() && sent->second.kind == letter.kind &&
                          sent->second.cause == letter.cause && sent->second.subject == letter.subject;
  if (!is_as_sent && !may_have_said(letter, traced.time_ns)) {
    return Objection{"P-10", compose("takes a ", text_of(letter), " that nobody sent")};
  }
  if (letter.kind == Kind::kManifest || letter.kind == Kind::kReduced) answers_.take(letter);
  if (letter.kind == Kind::kBackward && letter.cause.hop == 0) loader_.answered.insert(planned_name_of(letter.cause));
  requests_.hear(traced.life, letter);
  const auto reader = replicas_.find(letter.subject);
  const bool is_here = reader != replicas_.end() && reader->second.first == traced.life;  // else it is of that one
  if (!is_read_by_replica(letter.kind) || !is_here) return std::nullopt;
  if (!letter.round && (is_group_order(letter.kind) || letter.kind == Kind::kPart)) letter.orders = orders_of(letter);
  reader->second.second.take(letter);
  return std::nullopt;
}

std::optional<Objection> Run::send(const TracedEvent& traced) {
  const Letter letter = letter_of(traced.event);
  sent_.try_emplace(letter.span, letter);
  const bool is_request = letter.kind == Kind::kForward || letter.kind == Kind::kAsk;
  if (is_request) {
    if (auto why_not = requests_.send(traced.life, letter, end_)) return why_not;
  }
  if (is_request && letter.cause.hop == 0) {
    const bool was_planned = letter.is_evaluation || loader_.sent.contains(planned_name_of(letter.cause));
    return was_planned ? std::nullopt : std::optional(Objection{"P-14", "sends what the data loader has not"});
  }
  return say_of_replica(traced, letter);
}

// Finds the replica of this process that said it: a trace names the process alone.
std::optional<Objection> Run::say_of_replica(const TracedEvent& traced, const Letter& letter) {
  const bool is_forward = letter.kind == Kind::kForward;
  const bool is_answer = letter.kind == Kind::kManifest || letter.kind == Kind::kReduced ||
                         letter.kind == Kind::kPart || letter.kind == Kind::kBackward || letter.kind == Kind::kRefusal;
  if (!is_forward && !is_answer) return std::nullopt;
  const StageId stage{letter.cause.hop - (is_forward ? 1 : 0)};
  std::optional<Objection> objection;
  for (auto known = replicas_.rbegin(); known != replicas_.rend(); ++known) {
    auto& [life, replica] = known->second;
    if (life != traced.life || replica.setting().stage != stage) continue;
    auto why_not = replica.say(letter);
    if (!why_not) {
      if (letter.kind == Kind::kManifest && !letter.round) {
        manifests_.emplace(known->first, letter.cause.step, letter.cause.attempt);
      }
      return std::nullopt;
    }
    if (!objection) objection = std::move(why_not);
  }
  return objection;
}

std::optional<Objection> Run::say_of_group(const TracedEvent& traced) {
  if (traced.event.kind != TraceKind::kPhase) return std::nullopt;
  const Letter letter = letter_of(traced.event);
  if (letter.kind == Kind::kOther) return std::nullopt;
  const StageId stage = letter.kind == Kind::kMissing ? StageId{letter.cause.hop} : letter.stage();
  Group& group = groups_.try_emplace(traced.event.incarnation, traced.event.incarnation, stage).first->second;
  if (auto why_not = group.say(letter, hearing_of(group, letter.cause.step))) return why_not;
  if (!is_group_order(letter.kind) || letter.round) return std::nullopt;
  OrderName name = group.order();
  if (letter.kind != Kind::kReduce) name.members = 0;
  const Cause& cause = letter.cause;
  said_[{stage, cause.branch, cause.term, cause.step, cause.attempt}].insert(name);
  return std::nullopt;
}

std::optional<Objection> Run::take_of_loader(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  if (event.kind == TraceKind::kPath) loader_.sent.insert(planned_name_of(event.cause));
  if (event.kind != TraceKind::kSend || event.detail_text() != "AllAnswered") return std::nullopt;
  const Microbatches plan = plan_of(event.cause.step, end_);
  for (std::uint32_t microbatch = 0; microbatch < shape_.microbatches; ++microbatch) {
    const bool is_planned = !(plan & Microbatches::of(microbatch)).empty();
    if (!is_planned || loader_.answered.contains({event.cause.branch, event.cause.step, microbatch})) continue;
    return Objection{"P-14", compose("says that all is answered, microbatch ", microbatch, " is not")};
  }
  return std::nullopt;
}

// A trace names the counter of an epoch: whoever of the groups said so can have been it. Of a group whose last words
// are lost, it is the one appointed.
std::vector<OrderName> Run::orders_of(const Letter& letter) const {
  const Cause& cause = letter.cause;
  std::vector<OrderName> names;
  const auto said = said_.find({letter.stage(), cause.branch, cause.term, cause.step, cause.attempt});
  if (said != said_.end()) {
    for (OrderName name : said->second) {
      if ((letter.kind == Kind::kReduce) != (name.members > 0)) continue;
      names.push_back(name);
    }
  }
  if (!names.empty()) return names;
  const auto& groups = standings_.at(end_).groups;
  const auto appointed = groups.find(letter.stage());
  if (appointed != groups.end()) names.push_back({{appointed->second, cause.attempt}, {}, 0});
  return names;
}

Hearing Run::hearing_of(const Group& group, StepId step) const {
  Hearing hearing{&standings_, end_, &answers_, {}, {}, plan_of(step, end_)};
  const Epoch epoch = group.order().epoch;
  for (const Incarnation member : group.receivers()) {
    const auto found = replicas_.find(member);
    if (found == replicas_.end()) continue;
    const auto& [life, replica] = found->second;
    const auto named = replica.manifests_of(step, epoch);
    if (named.size() == 1) hearing.manifests[member] = *named.begin();
    const bool is_gone = !trace_.lives[life].is_whole;
    if (replica.has_contributed(epoch) || is_gone) hearing.contributors.insert(member);
  }
  return hearing;
}

bool Run::is_cut(std::uint32_t life, std::int64_t time_ns) const {
  const ProcessLife& process = trace_.lives[life];
  return process.is_whole ? time_ns > process.end_ns : time_ns >= router_end_ns_[life];
}

bool Run::may_have_said(const Letter& letter, std::int64_t time_ns) const {
  for (std::uint32_t life = 0; life < trace_.lives.size(); ++life) {
    const auto& processes = trace_.lives[life].processes;
    const bool is_sender = std::ranges::find(processes, letter.from) != processes.end() ||
                           (letter.from == ProcessIncarnation{} && trace_.lives[life].name == "spawner");
    if (is_sender && is_cut(life, time_ns)) return true;
  }
  return false;
}

Verdict judge(const RunTrace& trace) { return Run(trace).judge(); }

std::string text_of(const RunTrace& trace, std::size_t index) {
  const TracedEvent& traced = trace.events.at(index);
  const TraceEvent& event = traced.event;
  const std::string& file = trace.life_of(traced).name;
  std::size_t number = 0;
  for (std::size_t i = 0; i <= index; ++i) number += trace.life_of(trace.events[i]).name == file ? 1 : 0;
  std::ostringstream seconds;
  seconds << std::fixed << std::setprecision(6) << static_cast<double>(traced.time_ns) / 1e9;
  const bool has_words = event.kind != TraceKind::kManifest;
  return compose(file, ".trace, event ", number, " at ", seconds.str(), " s: ", trace.actor_of(traced), " (",
                 event.incarnation, ") ", text_of(event.kind), " ", has_words ? event.detail_text() : "", "  branch ",
                 event.cause.branch, " term ", event.cause.term, " position ", event.cause.position, " step ",
                 event.cause.step, " microbatch ", event.cause.microbatch, " hop ", event.cause.hop, " attempt ",
                 event.cause.attempt, " subject ", event.subject);
}

}  // namespace shoal::observed
