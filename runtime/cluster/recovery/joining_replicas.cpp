// One joiner at a time is looked at; nothing here knows of another.
#include "runtime/cluster/recovery/joining_replicas.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/text/duration_words.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {

namespace {

// A link may be too slow for these, beside another state while a commit is held.
constexpr std::string_view kForSums = "for the sum of a step";
constexpr std::string_view kForRounds =
    "between two rounds, which come every sync.H / sync.fragments steps (a larger H or fewer fragments leave it more "
    "time)";

// "; its first state took 69 s, ...", of one for which commits were held.
[[nodiscard]] std::string why_in_vain(const Joiner& joiner, std::string_view too_slow) {
  return compose("; its first state took ", duration_text(*joiner.took),
                 ", and its link is too slow for another one while a commit is held, or ", too_slow,
                 "; tried again in ", std::chrono::ceil<std::chrono::minutes>(joiner.holds.rest()).count(), " min");
}

}  // namespace

void JoiningReplicas::ask(const SpawnStage& order, ProcessIncarnation process, Instant now) {
  given_up_.erase(process);
  joiners_.push_back({.order = order, .process = process, .since = now});
}

void JoiningReplicas::member_is(const StageReady& state) {
  StageReady& known = states_[state.stage];
  if (state.version >= known.version) known = state;
}

bool JoiningReplicas::is_asked(Incarnation joiner) const {
  return std::ranges::any_of(joiners_, [&](const Joiner& one) { return one.order.replica == joiner; });
}

bool JoiningReplicas::is_ready(const StageReady& ready, Instant now) {
  for (Joiner& joiner : joiners_) {
    if (joiner.order.replica != ready.replica) continue;
    if (!joiner.took) joiner.took = now - joiner.since;
    joiner.ready = ready;
    return true;
  }
  return false;
}

void JoiningReplicas::arriving(const StateProgress& of, Instant now) {
  for (Joiner& joiner : joiners_) {
    if (joiner.order.replica != of.replica) continue;
    (void)joiner.state.seen(of.bytes, now);
    joiner.pace.arriving(of.bytes, of.bytes_total, of.on_its_way_ms, sharers_with(joiner));
  }
}

std::optional<Joiner> JoiningReplicas::end(Incarnation joiner) {
  const auto found =
      std::find_if(joiners_.begin(), joiners_.end(), [&](const Joiner& one) { return one.order.replica == joiner; });
  if (found == joiners_.end()) return std::nullopt;
  Joiner ended = std::move(*found);
  joiners_.erase(found);
  return ended;
}

std::vector<Joiner> JoiningReplicas::end_on(ProcessIncarnation process) {
  given_up_.erase(process);
  std::vector<Joiner> ended;
  for (const Joiner& one : joiners_) {
    if (one.process == process) ended.push_back(one);
  }
  std::erase_if(joiners_, [&](const Joiner& one) { return one.process == process; });
  return ended;
}

std::vector<Joiner> JoiningReplicas::end_all() {
  states_.clear();
  given_up_.clear();
  steps_ = StepPace();
  return std::exchange(joiners_, {});
}

std::vector<JoinDecision> JoiningReplicas::decide(std::uint64_t committed_steps, StepBefore step, Instant now) {
  std::vector<JoinDecision> decisions;
  const bool is_held = step == StepBefore::kDone && holds_commit();
  steps_.look(committed_steps, is_held, now);
  run_down_holds(is_held, now);
  for (Joiner& joiner : joiners_) {
    if (auto decision = judge(joiner, committed_steps, now)) decisions.push_back(std::move(*decision));
  }
  for (const JoinDecision& decision : decisions) {
    const bool is_over = decision.outcome != JoinOutcome::kHold && decision.outcome != JoinOutcome::kHoldOver;
    if (is_over) (void)end(decision.joiner.order.replica);
    if (decision.outcome == JoinOutcome::kGiveUp) given_up_[decision.joiner.process] = decision.reason;
  }
  return decisions;
}

// A joiner that is late while the step is still computed stops nobody, and uses up nothing.
void JoiningReplicas::run_down_holds(bool is_held, Instant now) {
  const Duration passed = account_.look(is_held, now);
  if (!is_held) return;
  for (Joiner& joiner : joiners_) {
    if (joiner.hold_left) joiner.hold_left = std::max(*joiner.hold_left - passed, Duration::zero());
  }
}

std::optional<JoinDecision> JoiningReplicas::judge(Joiner& joiner, std::uint64_t committed_steps, Instant now) {
  if (!joiner.ready) {
    const Duration silence = joiner.state.silence(now);
    if (silence < kSilenceMax) return judge_pace(joiner);
    return JoinDecision{JoinOutcome::kGiveUp, joiner,
                        compose("it had no state after ", duration_text(now - joiner.since),
                                ", and no more of it came for ", duration_text(silence))};
  }
  if (joiner.ready->version != committed_steps) return judge_late(joiner, committed_steps, now);
  const auto known = states_.find(joiner.order.stage);
  if (known == states_.end() || known->second.version != committed_steps) return std::nullopt;
  if (known->second.state_digest != joiner.ready->state_digest) {
    return JoinDecision{JoinOutcome::kDiffers, joiner,
                        compose("its state after ", committed_steps, " steps is not that of replica ",
                                known->second.replica, " (S-3)")};
  }
  return JoinDecision{JoinOutcome::kAdmit, joiner,
                      compose("at version ", committed_steps, ", ", duration_text(now - joiner.since),
                              " after it was asked for; a state in ", duration_text(*joiner.took))};
}

// A commit that waits costs everybody; so does a stage with fewer replicas. Hence: often enough, long enough, not more.
// One for which the account has nothing left stays a joiner: it may catch up by itself, or be held for later.
std::optional<JoinDecision> JoiningReplicas::judge_late(Joiner& joiner, std::uint64_t committed_steps, Instant now) {
  if (joiner.is_held()) return std::nullopt;
  const auto hold = joiner.holds.next(*joiner.took);
  if (joiner.hold_left) {
    joiner.hold_left.reset();
    joiner.hold_not_before = now + CommitHolds::kPause;
    const std::string why = compose("it held version ", joiner.ready->version, " of ", committed_steps, " after ",
                                    counted(joiner.holds.count(), "held commit"));
    return JoinDecision{
        hold ? JoinOutcome::kHoldOver : JoinOutcome::kGiveUp, joiner,
        why + (hold ? "; training goes on" : why_in_vain(joiner, follows_sums_ ? kForSums : kForRounds))};
  }
  if (now < joiner.hold_not_before) return std::nullopt;
  if (auto decision = judge_pace(joiner)) return decision;
  ENSURE(hold, "a joiner for which there is no further hold was given up when its last one ended");
  if (!account_.has(*hold)) return std::nullopt;
  joiner.holds.add(*hold);
  joiner.hold_left = *hold;
  return JoinDecision{JoinOutcome::kHold, joiner,
                      compose("it has version ", joiner.ready->version, " of ", committed_steps,
                              "; the next commit waits for it, at most ", duration_text(*hold))};
}

// To wait for one that cannot follow would let it in, and then every step would take as long as its link needs.
std::optional<JoinDecision> JoiningReplicas::judge_pace(const Joiner& joiner) const {
  if (!follows_sums_ || !steps_.mean()) return std::nullopt;
  std::string why = joiner.pace.why_too_slow(*steps_.mean());
  if (why.empty()) return std::nullopt;
  return JoinDecision{JoinOutcome::kGiveUp, joiner, std::move(why)};
}

std::size_t JoiningReplicas::sharers_with(const Joiner& joiner) const {
  const auto others = std::ranges::count_if(joiners_, [&](const Joiner& other) {
    return !other.ready && other.order.stage == joiner.order.stage && other.process != joiner.process;
  });
  return 1 + static_cast<std::size_t>(others);
}

bool JoiningReplicas::holds_commit() const { return std::ranges::any_of(joiners_, &Joiner::is_held); }

}  // namespace shoal
