// A process that leaves says so until somebody lets it go: a spawner that was started again has not heard of it.
#include "runtime/node/node_core.h"

#include <chrono>
#include <tuple>
#include <utility>

#include "messages/values/one_of_members.h"
#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/bf16_units.h"
#include "runtime/base/restart_policy.h"
#include "runtime/transport/identity.h"

namespace shoal {

SHOAL_INSTANTIATE_ONE_OF(NodeEffect);

namespace {

using namespace std::chrono_literals;

constexpr auto kJoinPeriod = 500ms;
constexpr std::uint32_t kNameTakenMax = 6;  // a name may still be held by the process that this one replaces
constexpr auto kPartingTime = 5s;

[[nodiscard]] std::int64_t clock_ns(Instant now) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
}

void add(NodeEffects& out, NodeEffects more) {
  for (NodeEffect& effect : more) out.push_back(std::move(effect));
}

}  // namespace

// Compares what a running stage was made for, of what a resumed run may change; the rest changes under it. All of a
// stage must take each other's parts, so whoever is started later needs the same. On a branch that a person began, what
// a stage computes is another thing, too.
bool fits_stages(const Config& made_for, const Config& now) {
  const auto needs = [](const Config& config) {
    return std::tie(config.run.threads, config.pipeline.stages, config.pipeline.schedule, config.pipeline.recompute,
                    config.sync.wire, config.sync.error_feedback, config.sync.backend);
  };
  return needs(made_for) == needs(now) && resume_conflicts(made_for, now).empty();
}

NodeCore::NodeCore(NodeSettings settings)
    : settings_(std::move(settings)), trace_(settings_.tracer, "node_agent"), stages_(settings_.note) {}

NodeEffects NodeCore::welcomed(const Welcome& welcome) {
  if (welcome.nonce != settings_.join.nonce) return {};
  const bool is_first = welcome_.process.value == 0;
  const bool is_awaited = is_first || (standing_ == Standing::kJoining && welcome.term >= welcome_.term);
  if (!is_awaited) return {};
  const auto config = parse_config(welcome.config_toml, "the spawner's welcome");
  if (!config.ok()) return end_process(exit_code(config.failure().error), config.failure().message);
  const bool is_on_gpu = settings_.join.device.starts_with("cuda:");  // whose units are asked about with its executor
  if (const Status precision = check_precision(config->model); !precision && !is_on_gpu) {
    return end_process(exit_code(precision.failure().error), precision.failure().message);
  }
  return is_first ? welcomed_first(welcome, config.value()) : welcomed_again(welcome, config.value());
}

NodeEffects NodeCore::welcomed_first(const Welcome& welcome, const Config& config) {
  if (settings_.tracer) settings_.tracer->set_process(welcome.process, welcome.term);  // before it has a level
  NodeEffects out{use(config)};
  const bool must_agree = config.sync.reduction == Reduction::kExact && !config.sync.allow_mixed_kernels;
  if (must_agree && settings_.threads.value_or(config.run.threads) != config.run.threads) {
    add(out, end_process(exit_code(Error::kRefused), "another number of threads than run.threads gives other bits"));
    return out;
  }
  welcome_ = welcome;
  standing_ = Standing::kIn;
  settings_.join.previous = welcome.process;
  trace_.record(TraceKind::kSpawn, trace_cause(), 0, settings_.join.name);
  log_info("node_agent", "welcomed as process ", welcome.process, " of run ", run_text(welcome.run));
  out.emplace_back(TellNumber{welcome});
  add(out, stages_.report_left_behind(welcome.run));
  tell_refusals(out);
  return out;
}

// The number must be the same, and the stages must be what the run wants now.
NodeEffects NodeCore::welcomed_again(const Welcome& welcome, const Config& config) {
  if (welcome.process != welcome_.process) return end_process(kRejoinStatus, "the spawner knows it no longer");
  if (!stages_.is_empty() && !fits_stages(config_, config)) {
    return end_process(kRejoinStatus, "the run goes on with other stages");
  }
  NodeEffects out{use(config)};
  welcome_ = welcome;
  standing_ = Standing::kIn;
  names_taken_ = 0;
  log_info("node_agent", "welcomed again as process ", welcome.process, " by the spawner of term ", welcome.term);
  out.emplace_back(TellNumber{welcome});
  tell_refusals(out);
  return out;
}

NodeEffect NodeCore::use(const Config& config) {
  config_ = config;
  if (settings_.tracer) settings_.tracer->set_level(config.trace.level);
  return UseLogLevel{log_level_named(config.log.level)};
}

void NodeCore::tell_refusals(NodeEffects& out) const {
  for (PeerRefused refusal : settings_.refusals) {
    refusal.process = welcome_.process;
    out.emplace_back(TellSupervisor{std::move(refusal)});
  }
}

NodeEffect NodeCore::ask_to_join() const {
  Join join = settings_.join;
  join.serves = stages_.served();
  return TellSupervisor{std::move(join)};
}

NodeEffects NodeCore::refused(const JoinRefused& refusal) {
  if (standing_ != Standing::kJoining || refusal.nonce != settings_.join.nonce) return {};
  const bool is_taken = refusal.reason == JoinRefusal::kNameTaken;
  if (is_taken && ++names_taken_ < kNameTakenMax) return {};  // asked again
  // A process that comes too late, as a restarted worker does when the run ends meanwhile, has done nothing wrong.
  const bool is_too_late = refusal.reason == JoinRefusal::kRunIsOver;
  return end_process(is_too_late ? 0 : exit_code(Error::kRefused), refusal.explanation);
}

NodeEffects NodeCore::spawner_lost(const ProcessLost& lost) {
  if (standing_ == Standing::kEnding) return {};
  log_warn("node_agent", "lost the spawner: ", lost.reason, "; looking for it");
  if (standing_ != Standing::kIn) return {};
  standing_ = Standing::kJoining;
  return {ask_to_join()};
}

NodeEffects NodeCore::leave(Instant now) {
  if (!signalled_at_) signalled_at_ = now;
  if (!leaves_because_) leaves_because_ = "it was asked to leave";
  return press_to_leave(now);
}

// The spawner that said so has heard it already.
NodeEffects NodeCore::leave(const LeaveRun& order) {
  if (!leaves_because_) leaves_because_ = order.reason;
  return {};
}

// Without a spawner to hear it, what the process serves is worth a short wait after a signal, whose sender may have set
// a deadline. A node that a person drained waits for the spawner as others do.
NodeEffects NodeCore::press_to_leave(Instant now) {
  if (standing_ == Standing::kIn) return {TellSupervisor{Leaving{welcome_.process, *leaves_because_}}};
  const bool is_waiting = !signalled_at_ || (!stages_.is_empty() && now - *signalled_at_ < kPartingTime);
  if (is_waiting) return {};
  return end_process(0, "asked to leave, and no spawner answers");
}

NodeEffects NodeCore::end(const EndProcess& order) {
  NodeEffects out;
  if (order.storage_waits) out.emplace_back(AwaitStorage{});
  add(out, end_process(static_cast<int>(order.exit_status), order.reason));
  return out;
}

NodeEffects NodeCore::end_process(int status, const std::string& reason) {
  if (std::exchange(standing_, Standing::kEnding) == Standing::kEnding) return {};
  log_info("node_agent", "ending with status ", status, ": ", reason);
  return {EndThisProcess{status, reason}};
}

NodeEffects NodeCore::fail(const Inject& order) {
  log_warn("node_agent", "injection ", order.id, " of ", order.whole_process ? "this process" : "this actor");
  if (order.whole_process && order.how != InjectKind::kFreeze) standing_ = Standing::kEnding;
  return {FailOnPurpose{order}};
}

NodeEffects NodeCore::tick(std::vector<ActorHealth> actors, const DeviceUse& use, Instant now) {
  const bool is_in = standing_ != Standing::kJoining;
  NodeEffects out{LookAgain{is_in ? std::chrono::milliseconds(config_.swarm.heartbeat_ms) : kJoinPeriod}};
  if (is_in) out.push_back(beat(std::move(actors), use, now));
  add(out, stages_.ask(now));
  if (standing_ != Standing::kEnding) add(out, give_up_a_hang(now));
  if (leaves_because_) add(out, press_to_leave(now));
  if (standing_ == Standing::kJoining) out.push_back(ask_to_join());
  return out;
}

NodeEffect NodeCore::beat(std::vector<ActorHealth> actors, const DeviceUse& use, Instant now) {
  return TellSupervisor{Heartbeat{welcome_.process, ++heartbeats_, clock_ns(now), std::move(actors), use}};
}

NodeEffects NodeCore::give_up_a_hang(Instant now) {
  const auto hung = stages_.find_hung(std::chrono::milliseconds(config_.swarm.dead_after_ms), now);
  if (!hung) return {};
  standing_ = Standing::kEnding;
  const std::string what = compose(stage_name(hung->order), ": ", hung->reason);
  trace_.record(TraceKind::kFault, trace_cause(), 0, what);
  log_error("node_agent", what, "; the process ends");
  return {stages_.report_end(hung->order, hung->reason), GiveUpProcess{what}};
}

void NodeCore::hear_echo(const HeartbeatEcho& echo, Instant now) {
  const auto offset = clock_offsets_.hear(echo, clock_ns(now));
  if (!offset) return;
  TraceEvent event;
  event.kind = TraceKind::kClock;
  event.cause = trace_cause();
  event.subject = static_cast<std::uint64_t>(offset->ahead_ns);
  event.bytes = offset->round_trip_ns;
  trace_.record(event);
}

NodeEffects NodeCore::spawn(const SpawnStage& order) {
  const bool may_start = welcome_.process.value != 0 && standing_ != Standing::kEnding;
  return may_start ? stages_.spawn(order) : NodeEffects{};
}

NodeEffects NodeCore::start_failed(const SpawnStage& order, const std::string& why) {
  return {stages_.report_end(order, why)};
}

NodeEffects NodeCore::stage_down(Incarnation replica, const std::string& reason) {
  const auto order = stages_.down(replica);
  if (!order) return {};
  Cause cause = trace_cause();
  cause.branch = order->branch;
  trace_.record(TraceKind::kExit, cause, 0, stage_name(*order));
  NodeEffects out{ForgetStage{*order, stage_name(*order)}};
  if (standing_ == Standing::kEnding) return out;
  out.push_back(stages_.report_end(*order, reason));
  for (const SpawnStage& next : stages_.take_next()) add(out, spawn(next));
  return out;
}

Cause NodeCore::trace_cause() const {
  Cause cause;
  cause.run = welcome_.run;
  cause.term = welcome_.term;
  return cause;
}

}  // namespace shoal
