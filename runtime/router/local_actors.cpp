// Which letters an actor counts as taken is the actor's own knowledge (actors/metrics.h, actors/storage.h); a letter
// that it does not count must not be kept for it.
#include "runtime/router/local_actors.h"

#include "messages/catalogue/facts.h"
#include "runtime/base/compose.h"

namespace shoal {
namespace {

[[nodiscard]] bool follows_journal(Role role) {
  return role == Role::kStage || role == Role::kSyncGroup || role == Role::kDataLoader || role == Role::kMetrics ||
         role == Role::kStorage;
}

[[nodiscard]] bool is_taken(Role role, const MessageBody& body) {
  const auto is_one_of = [&body]<class... Messages>() { return (std::holds_alternative<Messages>(body) || ...); };
  if (role == Role::kMetrics) return is_one_of.operator()<ReplicaReport, EvaluationResult, RunEvent>();
  return is_one_of.operator()<SaveShard, FetchState>();
}

}  // namespace

void LocalActors::attach(const LocalActor& actor, const JournalFollower& journal) {
  const LocalKey key = local_key(actor.address);
  Local& local = actors_[key];
  if (actor.taken && !local.untaken) local.untaken.emplace(actor.taken);
  if (!actor.is_up) return;
  local.is_up = true;
  local.pulse = actor.pulse;
  give_journal(key, journal);
  for (const Inject& order : orders_.take(actor.address)) inflict(key, order);
  if (!actor.taken) return;
  for (const MessageBody& body : local.untaken->begin_life()) edge_->give(key, body);
}

void LocalActors::give_journal(const LocalKey& actor, const JournalFollower& journal) {
  if (!follows_journal(actor.role)) return;
  const bool is_late = journal.past().position() > JournalPosition{};
  if (is_late) edge_->give_past(actor, std::make_shared<const View>(journal.past()));
  for (const JournalEntry& entry : journal.entries()) edge_->give_entry(actor, entry);
}

void LocalActors::down(const LocalKey& actor) {
  const auto found = actors_.find(actor);
  if (found == actors_.end()) return;
  found->second.is_up = false;
  found->second.pulse = nullptr;
  if (!found->second.untaken) actors_.erase(found);
}

bool LocalActors::hand_over(Letter& letter, Duration transfer, Instant now) {
  const LocalKey key = local_key(letter.to);
  const auto found = actors_.find(key);
  if (found == actors_.end()) return false;
  Local& local = found->second;
  if (local.pulse) local.pulse->heard(facts_of(letter.body).name, now);
  if (local.untaken && is_taken(key.role, letter.body)) local.untaken->add(letter.body);
  if (!local.is_up) return true;
  const bool is_pass = std::holds_alternative<Forward>(letter.body) || std::holds_alternative<Backward>(letter.body);
  const bool is_timed = is_pass && transfer > Duration::zero() && key.role == Role::kStage;
  if (is_timed) edge_->give_transfer_time(key, transfer);
  edge_->give(key, std::move(letter.body));
  return true;
}

void LocalActors::follow(const JournalEntry& entry) {
  for (const auto& [key, local] : actors_) {
    if (local.is_up && follows_journal(key.role)) edge_->give_entry(key, entry);
  }
}

void LocalActors::begin_at(const std::shared_ptr<const View>& past) {
  for (const auto& [key, local] : actors_) {
    if (local.is_up && follows_journal(key.role)) edge_->give_past(key, past);
  }
}

bool LocalActors::fail(const Inject& order, Instant now) {
  const auto found = actors_.find(local_key(order.target));
  const bool is_up = found != actors_.end() && found->second.is_up;
  if (!is_up) return orders_.keep(order, now);
  inflict(found->first, order);
  return true;
}

// An actor is ended from outside; it throws or freezes in a handler of its own.
void LocalActors::inflict(const LocalKey& victim, const Inject& order) {
  Cause cause;
  cause.run = links_->self().run;
  cause.term = links_->self().term;
  notes_->trace.record(TraceKind::kFault, cause, 0, compose("injection #", order.id));
  const bool ends_it = order.how == InjectKind::kExit || order.how == InjectKind::kKill;
  if (order.whole_process || !ends_it) return edge_->give_failure(victim, order);
  edge_->end(victim, order.how);
}

void LocalActors::forget_taken() {
  for (auto& [key, local] : actors_) {
    if (local.untaken) local.untaken->forget_taken();
  }
}

}  // namespace shoal
