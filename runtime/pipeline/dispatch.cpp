// The data loader: follow the journal, keep the credits, tell the groups, evaluate between steps.
#include "runtime/pipeline/dispatch.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

[[nodiscard]] Duration doubled(Duration base, int times, Duration ceiling) {
  for (int i = 0; i < times && base < ceiling; ++i) base *= 2;
  return std::min(base, ceiling);
}

constexpr Duration kSendAgainCeiling = std::chrono::minutes(10);

template <class Value>
void append(std::vector<Value>& to, std::vector<Value> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

DataLoaderCore::DataLoaderCore(DataLoaderConfig config, const SampleSource& source)
    : config_(config),
      source_(&source),
      planner_(make_path_planner(config.routing, config.seed)),
      credits_(config.credits, std::max(config.credits, config.credits_most)),
      data_(config.read_again) {
  ENSURE(config.stages > 0 && config.microbatches > 0 && config.credits > 0, "a run has stages, microbatches, credits");
}

bool DataLoaderCore::is_over() const { return view_.is_finished(); }

const char* DataLoaderCore::state() const {
  if (is_over()) return "the run is over";
  if (!serves_every_stage(members_of(view_, config_.stages))) return "waiting for a replica in every stage";
  if (phase_ != Phase::kWorking) return "asking who holds what";
  if (!work_) return "at the target";
  if (work_->purpose == Purpose::kEvaluate) return "evaluating";
  return work_->items.is_settled() ? "all answered, waiting for the commit" : "training";
}

void DataLoaderCore::begin_at(const View& past) {
  ENSURE(view_.position() == JournalPosition{}, "what the journal said so far comes before its entries");
  view_ = past;
}

std::vector<Letter> DataLoaderCore::follow(const JournalEntry& entry, Instant now) {
  const auto branch = view_.branch();
  const auto steps = view_.committed_steps();
  view_.apply(entry);
  if (const auto* removed = std::get_if<RemoveReplica>(&entry.body)) replica_removed(removed->replica, removed->stage);
  if (view_.branch() != branch || view_.committed_steps() != steps || is_over()) {
    work_.reset();
    held_.clear();
    if (phase_ == Phase::kAskingHolders || view_.branch() != branch) phase_ = Phase::kFollowing;
  }
  if (phase_ == Phase::kAskingHolders) return ask_new_group(entry);
  if (phase_ != Phase::kWorking) return {};
  begin_work(now);
  std::vector<Letter> out;
  if (leave_out_quarantined()) out = finish_if_answered(now);
  append(out, dispatch(now));
  return out;
}

// True: something was waited for until now.
bool DataLoaderCore::leave_out_quarantined() {
  bool has_changed = false;
  if (!work_ || work_->purpose != Purpose::kTrain) return has_changed;
  for (const MicrobatchId microbatch : view_.quarantined()) {
    if (!work_->items.has(microbatch)) continue;
    const WorkItem& item = work_->items.at(microbatch);
    if (item.state == WorkState::kLeftOut) continue;
    if (item.state == WorkState::kInFlight) planner_->answered(microbatch, item.path);
    work_->items.left_out(microbatch);
    has_changed = true;
  }
  return has_changed;
}

std::optional<EvaluationExtent> DataLoaderCore::evaluation_due() const {
  const std::uint64_t steps = view_.committed_steps();
  if (evaluated_ == std::pair{view_.branch(), steps}) return std::nullopt;
  if (steps >= config_.target_steps) return EvaluationExtent::kLast;
  const bool is_due = config_.evaluate_every > 0 && steps > 0 && steps % config_.evaluate_every == 0;
  return is_due ? std::optional(EvaluationExtent::kPeriodic) : std::nullopt;
}

void DataLoaderCore::begin_work(Instant now) {
  if (work_ || is_over()) return;
  if (const auto extent = evaluation_due()) return begin_evaluation(*extent, now);
  if (view_.committed_steps() >= config_.target_steps) return;
  planner_->begin_work();
  credits_.begin_step();
  work_ = Work{Purpose::kTrain, EvaluationExtent::kPeriodic, StepId{view_.committed_steps()},
               WorkList(Purpose::kTrain, config_.microbatches)};
  (void)leave_out_quarantined();
}

void DataLoaderCore::begin_evaluation(EvaluationExtent extent, Instant now) {
  const std::uint32_t count = source_->evaluation_count(extent);
  ENSURE(count > 0, "an evaluation has at least one microbatch");
  planner_->begin_work();
  work_ = Work{Purpose::kEvaluate, extent, StepId{view_.committed_steps()}, WorkList(Purpose::kEvaluate, count)};
  work_->silent_since = now;
}

Letter DataLoaderCore::question_for(StageId stage) const {
  return {{}, to_sync_group(stage), AskHolders{stage, view_.branch(), StepId{view_.committed_steps()}}};
}

std::vector<Letter> DataLoaderCore::ask_holders(Instant now) {
  phase_ = Phase::kAskingHolders;
  holders_due_ = now + config_.holders_timeout;
  holders_heard_.clear();
  held_.clear();
  return ask_unheard(now);
}

std::vector<Letter> DataLoaderCore::ask_unheard(Instant now) {
  ask_again_at_ = now + config_.ask_again;
  std::vector<Letter> out;
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
    if (!holders_heard_.contains(StageId{stage})) out.push_back(question_for(StageId{stage}));
  }
  return out;
}

// The question has died with the group that it was put to.
std::vector<Letter> DataLoaderCore::ask_new_group(const JournalEntry& entry) const {
  const auto* appointed = std::get_if<AppointGroup>(&entry.body);
  if (appointed == nullptr || holders_heard_.contains(appointed->stage)) return {};
  return {question_for(appointed->stage)};
}

std::vector<Letter> DataLoaderCore::holders(const Holders& holders, Instant now) {
  const bool is_asked = phase_ == Phase::kAskingHolders && holders.branch == view_.branch() &&
                        holders.step.value == view_.committed_steps() && holders.stage.value < config_.stages;
  if (!is_asked) return {};
  holders_heard_.insert(holders.stage);
  for (const Holder& holder : holders.holders) held_[holder.microbatch][holders.stage] = holder.replica;
  if (holders_heard_.size() < config_.stages) return {};
  return tick(now);
}

std::vector<Letter> DataLoaderCore::tick(Instant now) {
  if (is_over()) return {};
  if (phase_ == Phase::kFollowing) {
    return serves_every_stage(members_of(view_, config_.stages)) ? ask_holders(now) : std::vector<Letter>{};
  }
  if (phase_ == Phase::kAskingHolders) {
    if (holders_heard_.size() < config_.stages && now < holders_due_) {
      return now < ask_again_at_ ? std::vector<Letter>{} : ask_unheard(now);
    }
    phase_ = Phase::kWorking;
  }
  begin_work(now);
  std::vector<Letter> out = give_up_evaluation(now);
  append(out, dispatch(now));
  append(out, repeat_overdue(now));
  append(out, announce(now));
  append(out, tell_how_far(now));
  return out;
}

DataLoaderCore::CreditBook DataLoaderCore::credits_now() const {
  CreditBook credits;
  const Members members = members_of(view_, config_.stages);
  const std::size_t most = std::ranges::max(members, {}, &std::vector<Incarnation>::size).size();
  for (const auto& replicas : members) {
    credits.credits.push_back(credits_of_stage(credits_.now(), credits_.most(), replicas.size(), most));
  }
  for (std::size_t stage = 0; stage < work_->items.held().size(); ++stage) {
    for (const auto& [replica, held] : work_->items.held()[stage]) {
      if (held >= credits.credits[stage]) credits.without_credit.insert(replica);
    }
  }
  return credits;
}

// After a microbatch has left on that path.
void DataLoaderCore::note_credits(const std::vector<Incarnation>& path, CreditBook& credits) const {
  for (std::size_t stage = 0; stage < path.size(); ++stage) {
    const bool has_none = work_->items.held()[stage].at(path[stage]) >= credits.credits[stage];
    if (has_none) credits.without_credit.insert(path[stage]);
  }
}

Members DataLoaderCore::candidates() const {
  Members members = members_of(view_, config_.stages);
  for (std::vector<Incarnation>& stage : members) {
    std::vector<Incarnation> staying;
    std::copy_if(stage.begin(), stage.end(), std::back_inserter(staying),
                 [&](Incarnation replica) { return !avoided_.contains(replica); });
    if (!staying.empty()) stage = std::move(staying);
  }
  return members;
}

std::vector<Letter> DataLoaderCore::dispatch(Instant now) {
  std::vector<Letter> out;
  if (!work_ || data_.lasts(now)) return out;
  const Members members = candidates();
  if (!serves_every_stage(members)) return out;
  CreditBook credits = credits_now();
  // Each microbatch of the first step after a (re)start may have holders of its own.
  const bool has_holders = work_->purpose == Purpose::kTrain && !held_.empty();
  const std::size_t sorts = has_holders ? work_->items.size() : planner_->sorts(members);
  work_->items.offer(sorts, [&](MicrobatchId microbatch) {
    if (!plan(microbatch, members, credits, now)) return Offered::kRefused;
    append(out, send(microbatch, now));
    const WorkItem& item = work_->items.at(microbatch);
    if (item.state != WorkState::kInFlight) return Offered::kNoMore;
    note_credits(item.path, credits);
    return Offered::kTaken;
  });
  return out;
}

// Plans a path. A stage with a known holder keeps it, so that a restart makes no duplicates; else the planner chooses.
bool DataLoaderCore::plan(MicrobatchId microbatch, const Members& members, const CreditBook& credits, Instant now) {
  const auto held = held_.find(microbatch);
  const bool is_held = work_->purpose == Purpose::kTrain && held != held_.end();
  const auto has_no_credit = [&](const auto& holder) { return credits.without_credit.contains(holder.second); };
  if (is_held && std::ranges::any_of(held->second, has_no_credit)) return false;
  const auto* holders = is_held ? &held->second : nullptr;
  auto path = planner_->plan(
      {microbatch, work_->purpose, &members, &credits.without_credit, holders, work_->items.waiting()}, now);
  if (!path) return false;
  std::vector<std::string_view> reasons;
  for (std::size_t stage = 0; stage < path->size(); ++stage) reasons.push_back(planner_->reason(stage));
  work_->items.plan(microbatch, std::move(*path), std::move(reasons));
  return true;
}

std::string_view DataLoaderCore::reason_of(MicrobatchId microbatch, std::size_t stage) const {
  if (!work_ || !work_->items.has(microbatch)) return {};
  const auto& reasons = work_->items.at(microbatch).reasons;
  return stage < reasons.size() ? reasons[stage] : std::string_view{};
}

Result<Sample> DataLoaderCore::sample_of(MicrobatchId microbatch) const {
  if (work_->purpose == Purpose::kEvaluate) return source_->evaluation(microbatch);
  const std::uint32_t microbatches = config_.microbatches;
  const PlaceId sample = view_.requeued().sample_at(place_of(work_->step, microbatch, microbatches));
  return source_->training(step_of(sample, microbatches),
                           MicrobatchId{static_cast<std::uint32_t>(sample.value % microbatches)});
}

// Says that the text cannot be read, or that it is read again: to the supervisor, who tells the metrics actor.
std::vector<Letter> DataLoaderCore::note_reading(const Result<Sample>& read, Instant now) {
  const std::uint64_t step = view_.committed_steps();
  const auto event = read.ok() ? data_.read(step) : data_.failed(read.failure(), step, now);
  if (!event) return {};
  return {Letter{{}, to_supervisor(), *event}};
}

// The item stays as it is if its sample cannot be read.
std::vector<Letter> DataLoaderCore::send(MicrobatchId microbatch, Instant now) {
  auto sample = sample_of(microbatch);
  std::vector<Letter> out = note_reading(sample, now);
  const WorkItem& item = work_->items.at(microbatch);
  work_->items.set_due(microbatch, now + doubled(config_.send_again, item.repeats, kSendAgainCeiling));
  if (!sample) return out;
  work_->items.sent(microbatch, sample->target_bytes, now);
  Forward forward;
  forward.cause.run = config_.run;
  forward.cause.branch = view_.branch();
  forward.cause.term = config_.term;
  forward.cause.position = view_.position();
  forward.cause.step = work_->step;
  forward.cause.microbatch = microbatch;
  forward.cause.attempt = static_cast<std::uint32_t>(item.repeats);
  forward.sender = Incarnation{};  // nobody in the view: the data loader of this term
  forward.weights_version = view_.committed_steps();
  forward.purpose = work_->purpose;
  forward.path = item.path;
  forward.input = std::move(sample->inputs);
  forward.targets = std::move(sample->targets);
  const Incarnation first = item.path.front();
  out.push_back(Letter{{}, to_stage({}, first), std::move(forward)});
  return out;
}

std::vector<Letter> DataLoaderCore::answered(const Backward& backward, Instant now) {
  const bool is_ours = work_ && backward.purpose == work_->purpose && backward.cause.branch == view_.branch() &&
                       backward.cause.step == work_->step && work_->items.has(backward.cause.microbatch);
  if (!is_ours) return {};
  const WorkItem& item = work_->items.at(backward.cause.microbatch);
  if (item.state != WorkState::kInFlight) return {};
  learn(item, backward, now);
  planner_->answered(backward.cause.microbatch, item.path);
  work_->items.answered(backward.cause.microbatch, backward.loss_sum, backward.token_count);
  work_->silent_since = now;
  std::vector<Letter> out = finish_if_answered(now);
  append(out, dispatch(now));
  return out;
}

// A planned hop that is not in the trail was replaced on the way: whoever did so could not reach it. Not so one that
// has answered others since: it was frozen then, or the router still had an earlier path of this microbatch.
void DataLoaderCore::learn(const WorkItem& item, const Backward& backward, Instant now) {
  if (backward.purpose == Purpose::kTrain) {
    planner_->learn(backward.trail);
    if (item.repeats == 0) credits_.answered(milliseconds(now - item.sent), backward.trail);
  }
  if (backward.trail.empty()) return;
  for (const Hop& hop : backward.trail) visited_[hop.replica] = now;
  std::erase_if(visited_, [this](const auto& visited) { return !view_.contains(visited.first); });
  for (const Incarnation planned : item.path) {
    const auto visited = visited_.find(planned);
    const bool was_reached = visited != visited_.end() && visited->second >= item.sent;
    if (!was_reached && view_.contains(planned)) planner_->failed(planned, now);
  }
}

std::vector<Letter> DataLoaderCore::finish_if_answered(Instant now) {
  if (!work_->items.is_settled()) return {};
  if (work_->purpose == Purpose::kTrain) {
    work_->announcements = 0;
    work_->announce_due = now;
    return announce(now);
  }
  return finish_evaluation(now);
}

std::vector<Letter> DataLoaderCore::finish_evaluation(Instant now) {
  const EvaluationResult result = evaluation_result();
  evaluated_ = {view_.branch(), view_.committed_steps()};
  work_.reset();
  begin_work(now);
  return {Letter{{}, to_metrics(), result}, Letter{{}, to_supervisor(), result}};
}

// Added in the order of the microbatches, whatever order they came in: equal runs give equal bits.
EvaluationResult DataLoaderCore::evaluation_result() const {
  EvaluationResult result;
  result.branch = view_.branch();
  result.step = view_.committed_steps();
  result.complete = work_->extent == EvaluationExtent::kLast;
  result.windows_planned = source_->evaluation_windows(work_->extent);
  result.windows = result.windows_planned * work_->items.settled() / work_->items.size();
  for (std::uint32_t i = 0; i < work_->items.size(); ++i) {
    const WorkItem& item = work_->items.at(MicrobatchId{i});
    if (item.state != WorkState::kAnswered) continue;
    result.loss_sum += item.loss_sum;
    result.token_count += item.token_count;
    result.target_bytes += item.target_bytes;
  }
  return result;
}

std::vector<Letter> DataLoaderCore::announce(Instant now) {
  std::vector<Letter> out;
  const bool is_due =
      work_ && work_->purpose == Purpose::kTrain && work_->items.is_settled() && now >= work_->announce_due;
  if (!is_due) return out;
  work_->announce_due = now + doubled(config_.repeat_first, work_->announcements++, config_.repeat_ceiling);
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
    out.push_back(Letter{{}, to_sync_group(StageId{stage}), AllAnswered{view_.branch(), work_->step}});
  }
  return out;
}

std::vector<Letter> DataLoaderCore::repeat_overdue(Instant now) {
  std::vector<Letter> out;
  if (!work_) return out;
  for (const MicrobatchId microbatch : work_->items.in_flight()) {
    if (now < work_->items.at(microbatch).due) continue;
    work_->items.repeat(microbatch);
    append(out, send(microbatch, now));
  }
  return out;
}

// A stage has not agreed on all that is due after the newest commit: what is asked of its replicas waits there for it.
bool DataLoaderCore::waits_for_rounds() const {
  if (!config_.rounds) return false;
  const std::uint64_t version = view_.committed_steps();
  auto due = config_.rounds->due_at(version);
  if (view_.is_at_last_commit()) append(due, config_.rounds->in_flight_after(version));
  for (const RoundId& round : due) {
    if (round.number == 0) continue;
    const StepId contributed{config_.rounds->contribution_version(round)};
    for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
      if (!view_.rounds().has(StageId{stage}, round, contributed, version)) return true;
    }
  }
  return false;
}

// Only a periodic one: the run does not end without the evaluation of its last weights. How long a round takes, its
// sync groups watch.
std::vector<Letter> DataLoaderCore::give_up_evaluation(Instant now) {
  const bool is_periodic =
      work_ && work_->purpose == Purpose::kEvaluate && work_->extent == EvaluationExtent::kPeriodic;
  if (!is_periodic) return {};
  if (waits_for_rounds()) work_->silent_since = now;
  if (now - work_->silent_since < config_.evaluation_timeout) return {};
  const RunEvent event{RunEventKind::kEvaluationGivenUp, "data_loader",
                       compose(work_->items.settled(), " of ", work_->items.size(), " microbatches were answered"),
                       view_.committed_steps()};
  ++evaluations_given_up_;
  evaluated_ = {view_.branch(), view_.committed_steps()};
  work_.reset();
  begin_work(now);
  return {Letter{{}, to_metrics(), event}};
}

// The run ends when the last evaluation is there: the supervisor waits while it comes further, and a person is told by
// the metrics actor.
std::vector<Letter> DataLoaderCore::tell_how_far(Instant now) {
  const bool is_last = work_ && work_->purpose == Purpose::kEvaluate && work_->extent == EvaluationExtent::kLast;
  if (!is_last) return {};
  const bool is_due =
      !work_->told || (work_->items.settled() != *work_->told && now - work_->told_at >= config_.tell_every);
  if (!is_due) return {};
  work_->told = work_->items.settled();
  work_->told_at = now;
  EvaluationResult so_far = evaluation_result();
  so_far.complete = false;
  return {Letter{{}, to_metrics(), so_far}, Letter{{}, to_supervisor(), so_far}};
}

void DataLoaderCore::missing(const Missing& missing, Instant now) {
  const bool is_ours = work_ && work_->purpose == Purpose::kTrain && missing.order.branch == view_.branch() &&
                       missing.order.step == work_->step && missing.upstream == Incarnation{};
  if (!is_ours) return;
  for (const MicrobatchId microbatch : missing.microbatches) {
    if (!work_->items.has(microbatch) || work_->items.at(microbatch).state != WorkState::kAnswered) continue;
    work_->items.unanswered(microbatch, now + config_.send_again);
  }
}

// The router replaces the hop by the same rule; knowing it keeps the credits right.
void DataLoaderCore::replica_removed(Incarnation replica, StageId stage) {
  if (!work_) return;
  const Members members = members_of(view_, config_.stages);
  work_->items.replace(stage, replica, [&](MicrobatchId microbatch) {
    return replacement_hop(members[stage.value], microbatch, replica);
  });
}

}  // namespace shoal
