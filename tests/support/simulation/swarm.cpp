// The wiring of launch/processes, over a simulated network.
#include "tests/support/simulation/swarm.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "actors/data_loader.h"
#include "actors/hear.h"
#include "actors/node_agent.h"
#include "actors/stage.h"
#include "actors/sync_group.h"
#include "messages/codec.h"
#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"
#include "runtime/base/ensure.h"
#include "runtime/base/log.h"
#include "runtime/pipeline/schedule.h"
#include "runtime/trace/metrics/metrics_core.h"
#include "tests/support/commit_policies.h"
#include "tests/support/fake_executor.h"
#include "tests/support/simulation/disk.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr RunId kRunOfSimulation{77};
constexpr auto kKeeperPause = 500ms;
constexpr Duration kSilenceMax = DetectorLimits{}.dead_after;  // longest silence of a link, as the transport does it
constexpr std::uint64_t kMessagesMax = 3'000'000;
constexpr int kAborted = 134;
// A look at the disk is over at once, or within so long: some are longer than the silence that means death.
constexpr std::array<Duration, 4> kLooksTake = {0s, 100ms, 3s, 30s};
const char* const kSpawner = "spawner";
const char* const kStorage = "storage";

// SIMULATION_LOG=FILE keeps what the actors say; otherwise a run is silent, whatever faults it meets.
void quieten_log() {
  static const bool is_open = [] {
    const char* file = std::getenv("SIMULATION_LOG");
    const bool is_wanted = file != nullptr && *file != '\0';
    return open_log({is_wanted ? file : "/dev/null", is_wanted ? LogLevel::kDebug : LogLevel::kError, false}).ok();
  }();
  ENSURE(is_open, "the log of the simulation can be opened");
}

Config fake_config(const SwarmShape& shape) {
  Config config;
  config.model.layers = std::max(static_cast<int>(shape.stages), shape.sync.fragments);
  config.batch.sequences = static_cast<int>(shape.microbatches);
  config.batch.microbatch = 1;
  config.optim.warmup_steps = 0;
  config.optim.decay_steps = shape.steps;
  config.sync = shape.sync;
  config.sync.reduction = Reduction::kExact;
  return config;
}

Config config_of(const SwarmShape& shape) {
  Config config = shape.work ? shape.work->config : fake_config(shape);
  config.run.steps = shape.steps;
  config.pipeline.stages = static_cast<int>(shape.stages);
  config.pipeline.replicas = static_cast<int>(shape.replicas);
  config.pipeline.replicas_listed.assign(shape.replicas_listed.begin(), shape.replicas_listed.end());
  config.pipeline.schedule = shape.schedule;
  config.pipeline.routing = shape.routing;
  config.checkpoint.every = shape.checkpoint_every;
  return config;
}

// Identity instead of text: what the fake executor checks its inputs by.
class IdentitySamples final : public SampleSource {
 public:
  [[nodiscard]] Result<Sample> training(StepId step, MicrobatchId microbatch) const override {
    return Sample{FakeExecutor::input_of(0, step, microbatch), {}};
  }
  [[nodiscard]] std::uint32_t evaluation_count(EvaluationExtent) const override { return 3; }
  [[nodiscard]] std::uint64_t evaluation_windows(EvaluationExtent) const override { return 3; }
  [[nodiscard]] Result<Sample> evaluation(MicrobatchId microbatch) const override {
    return Sample{FakeExecutor::input_of(0, StepId{}, microbatch), {}, 10};
  }
};

struct KeptMetrics {
  static inline const char* name = "metrics";
  MetricsCore core{MetricsConfig{}};
};

void keep_lines(SwarmRecord& record, const std::vector<MetricsOutput>& outputs) {
  for (const MetricsOutput& output : outputs) {
    if (const auto* line = std::get_if<StepRecord>(&output)) record.lines.push_back(*line);
  }
}

[[nodiscard]] WrittenLines written_lines(const SwarmRecord& record) {
  WrittenLines written;
  if (record.lines.empty()) return written;
  written.step = WrittenStep{Branch{record.lines.back().branch}, StepId{record.lines.back().step}};
  return written;
}

// The core is real, the file is the record.
caf::behavior keep_metrics(caf::stateful_actor<KeptMetrics>* self, std::shared_ptr<SwarmRecord> record,
                           JournalPosition live_after) {
  self->state.core.begin(live_after, written_lines(*record), self->clock().now());
  return {hear<Hearer::kMetrics>(BodyHandlers{
              [self, record](const ReplicaReport& report) {
                record->reports.push_back(report);
                keep_lines(*record, self->state.core.on(report));
              },
              [](const EvaluationResult&) {},
              [self, record](const RunEvent& event) {
                record->events.push_back(event);
                keep_lines(*record, self->state.core.on(event, self->clock().now()));
              },
          }),
          [self](const JournalSoFar& past) { self->state.core.begin_at(*past.view); },
          [self, record](const JournalEntry& entry) {
            keep_lines(*record, self->state.core.on(entry, self->clock().now()));
          }};
}

}  // namespace

std::vector<std::string> SwarmRecord::reasons_of(RunEventKind kind) const {
  std::vector<std::string> reasons;
  for (const RunEvent& one : events) {
    if (one.kind == kind) reasons.push_back(one.reason);
  }
  return reasons;
}

SimulatedSwarm::SimulatedSwarm(SwarmShape shape, std::uint64_t seed)
    : shape_(std::move(shape)),
      seed_(seed),
      config_(config_of(shape_)),
      clockwork_(seed),
      network_(clockwork_),
      journal_(std::make_shared<WholeJournal>(kRunOfSimulation)) {
  quieten_log();
  if (shape_.has_late_devices) late_.emplace(clockwork_);
  if (shape_.has_collectives) collectives_.emplace(clockwork_);
  if (shape_.draws_bounds) knobs_.draw(seed_);
  if (shape_.piece_bytes) knobs_.set(kImagePieceBytes.name(), *shape_.piece_bytes);
  if (shape_.work) knobs_.set(kImagePieceBytes.name(), kImagePieceBytes.usual());  // real states are far larger
  start_all();
}

void SimulatedSwarm::start_all() {
  start_spawner();
  std::vector<std::string> names{kStorage};
  const auto places = static_cast<std::uint32_t>(replicas_wanted(config_.pipeline).total(shape_.stages));
  nodes_ = shape_.nodes == 0 ? places : shape_.nodes;
  for (std::uint32_t node = 1; node <= nodes_; ++node) names.push_back(compose("node", node));
  while (!names.empty()) {  // in any order
    const auto next = names.begin() + static_cast<std::ptrdiff_t>(clockwork_.draw(names.size()));
    start_process(*next);
    names.erase(next);
  }
}

void SimulatedSwarm::resume(std::uint64_t steps) {
  ENSURE(record_->end, "only what has ended is resumed");
  while (!processes_.empty()) end_process(processes_.begin()->first);
  endings_.clear();
  start_due_.clear();
  agenda_.clear();
  late_looks_.under_way = 0;
  record_->end.reset();
  shape_.steps = steps;
  config_ = config_of(shape_);
  start_all();
}

SimulatedSwarm::~SimulatedSwarm() {
  DigestOfRuns::add(fingerprint());
  while (!processes_.empty()) end_process(processes_.begin()->first);
  for (const auto& [name, note] : notes_) std::filesystem::remove(note_path(name));
}

RouterActor SimulatedSwarm::start_router(Process& process, ProcessRole role, const std::string& name) {
  process.port = ++ports_;
  RouterConfig config;
  config.self = {role, std::nullopt, name, kRunOfSimulation, term_};
  if (role == ProcessRole::kSpawner) config.self.process = kSpawnerProcess;
  if (role == ProcessRole::kSpawner) config.numbered = [this](const Peers& told) { on_record_ = told.peers; };
  if (role != ProcessRole::kSpawner) config.spawner = Endpoint{kSpawner, 0};
  config.dialler = [actor = network_.make_dialler(process.port)](const Endpoint&) { return actor; };
  if (role != ProcessRole::kSpawner) config.lanes = network_.lanes().of(process.port);
  config.filter = shape_.filter;
  if (late_) config.make_copier = [this](const RouterActor&) { return late_->copier(); };
  config.jitter_seed = clockwork_.draw();
  const auto mail = clockwork_.system().spawn(router, std::move(config));
  network_.listen(process.port, caf::actor_cast<caf::actor>(mail));
  process.actors.push_back(caf::actor_cast<caf::actor>(mail));
  return mail;
}

void SimulatedSwarm::start_spawner() {
  const auto term = journal_->begin_term();
  ENSURE(term.ok(), "a journal in memory gives terms");
  term_ = term.value();
  *crash_ = CrashPlan{};
  Process& spawner = processes_[kSpawner] = Process{};
  const auto mail = start_router(spawner, ProcessRole::kSpawner, kSpawner);
  network_.set_spawner(spawner.port);
  const auto metrics = clockwork_.system().spawn(keep_metrics, record_, journal_->last_position());
  caf::anon_send(mail, Attach{Role::kMetrics, {}, {}, metrics});
  spawner.actors.push_back(metrics);
  start_supervisor(mail);
}

void SimulatedSwarm::start_supervisor(const RouterActor& mail) {
  SupervisorSettings settings;
  SupervisorConfig& core = settings.core;
  core.run = kRunOfSimulation;
  core.term = term_;
  core.on_record = on_record_;
  core.stages = shape_.stages;
  core.replicas = replicas_wanted(config_.pipeline);
  core.share_devices = shape_.shares_devices;
  core.rebalance_every = shape_.rebalance_every;
  core.rebalance.warm_up_s = 0;
  core.microbatches = shape_.microbatches;
  core.steps_target = shape_.steps;
  core.checkpoint_every = shape_.checkpoint_every;
  core.snapshot_every = shape_.snapshot_every.value_or(SnapshotSchedule::kEveryDefault);
  if (term_ > Term{1}) {
    core.start = newest_saved(*record_, shape_.stages, shape_.steps);
    core.return_within = core.detector.dead_after;
  }
  core.policy = constant_rate(0.5, 0);
  if (shape_.work) core.policy.optim = config_.optim;
  if (shape_.sync.mode == SyncMode::kDiloco) {
    core.rounds.emplace(shape_.sync);
    core.quorum = static_cast<std::uint32_t>(shape_.sync.quorum);
    if (shape_.sync.requeue_lost) core.requeue_window = core.rounds->window_max();
  }
  core.config_toml = write_config(config_);
  settings.journal = std::make_shared<CrashingJournal>(journal_, crash_);
  settings.router = mail;
  settings.find_checkpoint = [this](const FindCheckpoint& wanted, const TellLook& tell) { look(wanted, tell); };
  settings.start_group = [this, mail](const StartGroup& start) {
    SyncGroupSettings group{{kRunOfSimulation, term_, start.stage, start.group, shape_.microbatches}, mail};
    if (shape_.sync.mode == SyncMode::kDiloco) {
      group.core.keeps_sums_apart = true;
      group.rounds = RoundGroupConfig{kRunOfSimulation, term_, start.stage, start.group, shape_.sync};
    }
    auto actor = caf::actor_cast<caf::actor>(clockwork_.system().spawn(sync_group, std::move(group)));
    children_[compose("sync_group/", start.stage)] = actor;
    return actor;
  };
  if (core.rebalance_every) settings.work = std::make_shared<WorkBoard>();
  settings.start_data_loader = [this, mail, work = settings.work](const StartDataLoader&) {
    DataLoaderSettings loader{{}, std::make_shared<IdentitySamples>(), mail};
    if (shape_.work) loader.samples = shape_.work->samples;
    loader.work = work;
    loader.core.run = kRunOfSimulation;
    loader.core.term = term_;
    loader.core.stages = shape_.stages;
    loader.core.microbatches = shape_.microbatches;
    loader.core.credits = credits_per_first_replica(config_);
    loader.core.credits_most = credits_at_most(config_);
    loader.core.routing = shape_.routing;
    loader.core.seed = seed_;
    loader.core.target_steps = shape_.steps;
    auto actor = caf::actor_cast<caf::actor>(clockwork_.system().spawn(data_loader, std::move(loader)));
    children_["data_loader"] = actor;
    return actor;
  };
  settings.end_process = [record = record_, crash = crash_](const EndRun& end) {
    if (!record->end && !crash->is_dead) record->end = SwarmEnd{end.exit_status, end.reason};
  };
  const auto started = clockwork_.system().spawn(supervisor, std::move(settings));
  supervisor_ = started;
  processes_[kSpawner].actors.push_back(caf::actor_cast<caf::actor>(started));
}

// Others write meanwhile: a look finds what was there when it began, or what is there when it ends.
void SimulatedSwarm::look(const FindCheckpoint& wanted, const TellLook& tell) {
  const auto found = [record = record_, stages = shape_.stages, most = wanted.not_beyond] {
    return newest_saved(*record, stages, most);
  };
  const Duration longest = kLooksTake.at(clockwork_.draw(kLooksTake.size()));
  if (longest == Duration::zero()) return tell(found());
  const Duration takes(static_cast<Duration::rep>(clockwork_.draw(static_cast<std::uint64_t>(longest.count()))));
  const auto found_first = clockwork_.draw(2) == 0 ? std::optional(found()) : std::nullopt;
  ++late_looks_.under_way;
  agenda_.emplace(clockwork_.now() + takes, [this, found, found_first, tell] {
    --late_looks_.under_way;
    ++late_looks_.ended;
    tell(found_first ? *found_first : found());
  });
}

void SimulatedSwarm::ask_for_checkpoint() {
  if (supervisor_) caf::anon_send(*supervisor_, SaveRequest{"a test", std::nullopt});
}

void SimulatedSwarm::start_process(const std::string& name) {
  if (name == kSpawner) return start_spawner();
  Process& process = processes_[name] = Process{};
  const bool is_storage = name == kStorage;
  const auto mail = start_router(process, is_storage ? ProcessRole::kStorage : ProcessRole::kNode, name);
  if (is_storage) {
    const auto disk = clockwork_.system().spawn(simulated_disk, record_, mail, shape_.work.has_value());
    caf::anon_send(mail, Attach{Role::kStorage, {}, {}, disk});
    process.actors.push_back(disk);
  }
  start_agent(name, mail);
}

void SimulatedSwarm::start_agent(const std::string& name, const RouterActor& mail) {
  Process& process = processes_.at(name);
  NodeAgentSettings settings;
  settings.join.name = name;
  settings.join.device = "fake";
  settings.join.nonce = clockwork_.draw();
  settings.join.role = name == kStorage ? ProcessRole::kStorage : ProcessRole::kNode;
  settings.join.endpoint = Endpoint{name, process.port};
  settings.join.pid = process.port;
  settings.router = mail;
  notes_[name] = shape_.poison ? std::make_shared<WorkNote>(note_path(name)) : std::make_shared<WorkNote>();
  settings.note = notes_[name];
  settings.start_stage = [this, name, mail](const SpawnStage& order, const Config&, const Welcome& welcome) {
    return start_stage(name, mail, order, welcome);
  };
  settings.end_process = [this, name, port = process.port](int status, const std::string&) {
    endings_.push_back({name, port, status});
  };
  const auto agent = clockwork_.system().spawn(node_agent, std::move(settings));
  process.actors.push_back(caf::actor_cast<caf::actor>(agent));
}

StageActor SimulatedSwarm::start_stage(const std::string& name, const RouterActor& mail, const SpawnStage& order,
                                       const Welcome& welcome) {
  StageSettings settings;
  settings.order = order;
  settings.config = config_;
  settings.run = welcome.run;
  settings.term = welcome.term;
  settings.process = welcome.process;
  settings.router = mail;
  settings.note = notes_.at(name);
  settings.make_runner = [this, name, order](const TellJobEnd& tell) {
    auto executor = make_executor(name, order);
    return late_ ? late_->make_runner(std::move(executor), tell) : run_at_once(std::move(executor));
  };
  if (collectives_) collectives_->wire(settings, name);
  record_->stage_of[order.replica] = order.stage;
  auto actor = clockwork_.system().spawn(stage, std::move(settings));
  Process& process = processes_.at(name);
  process.stages.push_back(caf::actor_cast<caf::actor>(actor));
  *process.number = welcome.process;
  return actor;
}

std::unique_ptr<StageExecutor> SimulatedSwarm::make_executor(const std::string& name, const SpawnStage& order) {
  if (shape_.work) return shape_.work->make_executor(order.stage);
  FakeShape shape{order.stage.value, shape_.stages, shape_.microbatches, DType::kInt64,
                  shape_.sync,       order.replica, record_->passes};
  if (shape_.sync.mode == SyncMode::kDiloco) shape.samples = record_->samples;
  auto executor = std::make_unique<FakeExecutor>(shape);
  set_trap(name, order, *executor);
  return executor;
}

void SimulatedSwarm::set_trap(const std::string& name, const SpawnStage& order, FakeExecutor& executor) {
  const auto& poison = shape_.poison;
  if (!poison || poison->stage != order.stage) return;
  const auto pass = poison->in_backward ? FakeExecutor::Pass::kBackward : FakeExecutor::Pass::kForward;
  executor.set_trap(poison->step, poison->microbatch, pass, [this, name, port = processes_.at(name).port] {
    if (poisonings_ == shape_.poison->times_max) return;
    ++poisonings_;
    if (shape_.poison->ends_process) endings_.push_back({name, port, kAborted});
    throw std::runtime_error("a poisoned microbatch");
  });
}

std::string SimulatedSwarm::note_path(const std::string& name) const {
  return (std::filesystem::temp_directory_path() / compose("simulation-", ::getpid(), "-", name, ".note")).string();
}

void SimulatedSwarm::end_process(std::string name) {
  const auto found = processes_.find(name);
  if (found == processes_.end()) return;
  const Process process = std::move(found->second);
  processes_.erase(found);
  network_.vanish(process.port);
  for (const auto& actor : process.stages) clockwork_.end_now(actor);
  for (auto actor = process.actors.rbegin(); actor != process.actors.rend(); ++actor) clockwork_.end_now(*actor);
  if (name == kSpawner) {
    for (const auto& [child, actor] : children_) frozen_.push_back(actor);
    for (const auto& actor : std::exchange(frozen_, {})) clockwork_.end_now(actor);
    children_.clear();
  }
}

void SimulatedSwarm::keep_processes() {
  if (crash_->is_dead && processes_.contains(kSpawner)) kill(kSpawner);
  while (!agenda_.empty() && agenda_.begin()->first <= clockwork_.now()) {
    agenda_.extract(agenda_.begin()).mapped()();
  }
  for (const Ending& ending : std::exchange(endings_, {})) {
    const auto found = processes_.find(ending.process);
    if (found == processes_.end() || found->second.port != ending.port) continue;
    end_process(ending.process);
    if (ending.exit_status != 0) start_due_[ending.process] = clockwork_.now() + kKeeperPause;
  }
  for (auto due = start_due_.begin(); due != start_due_.end();) {
    if (due->second > clockwork_.now()) {
      ++due;
      continue;
    }
    start_process(due->first);
    due = start_due_.erase(due);
  }
}

bool SimulatedSwarm::run_one() {
  if (record_->end) return false;
  const bool has_run = clockwork_.run_one();
  if (!has_run && start_due_.empty() && agenda_.empty()) return false;
  // No actor is left for whom time would pass.
  if (!has_run && !start_due_.empty()) start_due_.begin()->second = clockwork_.now();
  if (!has_run && !agenda_.empty()) agenda_.extract(agenda_.begin()).mapped()();
  keep_processes();
  return true;
}

void SimulatedSwarm::run() {
  while (clockwork_.messages() < kMessagesMax && clockwork_.elapsed() < shape_.time_max && run_one()) {
  }
}

std::uint64_t SimulatedSwarm::fingerprint() const {
  Digest digest;
  digest.add(clockwork_.messages());
  digest.add(static_cast<std::uint64_t>(clockwork_.elapsed().count()));
  digest.add(network_.letters_sent());
  for (const JournalEntry& entry : journal()) digest.add(encode(entry));
  for (const RunEvent& event : record_->events) {
    digest.add(word_of(event.kind));
    digest.add(event.subject);
    digest.add(event.reason);
  }
  return digest.value();
}

std::vector<std::string> SimulatedSwarm::processes() const {
  std::vector<std::string> names;
  for (const auto& [name, process] : processes_) {
    if (name != kSpawner) names.push_back(name);
  }
  return names;
}

void SimulatedSwarm::kill(const std::string& process) {
  ENSURE(processes_.contains(process), "a process that lives");
  end_process(process);
  std::filesystem::remove(note_path(process));  // as a keeper does: it was no crash
  start_due_[process] = clockwork_.now() + kKeeperPause;
}

void SimulatedSwarm::take_away(const std::string& node) {
  kill(node);
  start_due_.erase(node);
}

void SimulatedSwarm::add_node() { start_process(compose("node", ++nodes_)); }

void SimulatedSwarm::kill_at_write(std::uint64_t write, WriteFate fate) { *crash_ = CrashPlan{write, fate, false}; }

void SimulatedSwarm::cut(const std::string& process) { network_.break_links(processes_.at(process).port); }

void SimulatedSwarm::cut(const std::string& one, const std::string& other) {
  network_.break_links(port_of(one), port_of(other));
}

std::vector<caf::actor> SimulatedSwarm::actors_of(const std::string& process) const {
  const Process& one = processes_.at(process);
  std::vector<caf::actor> actors = one.actors;
  actors.insert(actors.end(), one.stages.begin(), one.stages.end());
  for (const auto& [child, actor] : children_) {
    if (process == kSpawner) actors.push_back(actor);
  }
  return actors;
}

void SimulatedSwarm::pause(const std::string& process, Duration time) {
  const auto actors = actors_of(process);
  for (const auto& actor : actors) clockwork_.stop(actor);
  const auto resume = [this, actors] {
    for (const auto& actor : actors) clockwork_.resume(actor);
  };
  const Instant now = clockwork_.now();
  agenda_.emplace(now + time, resume);
  if (time < kSilenceMax) return;
  agenda_.emplace(now + kSilenceMax, [this, port = port_of(process)] { network_.break_links(port); });
}

void SimulatedSwarm::stall(const std::string& from, const std::string& to, Duration time) {
  const SimulatedHop hop{port_of(from), port_of(to)};
  network_.stall(hop, clockwork_.now() + time);
  if (time < kSilenceMax) return;
  agenda_.emplace(clockwork_.now() + kSilenceMax, [this, hop] { network_.break_links(hop.from, hop.to); });
}

bool SimulatedSwarm::kill_child(const std::string& actor) {
  const auto found = children_.find(actor);
  if (found == children_.end()) return false;
  const caf::actor victim = found->second;
  children_.erase(found);
  clockwork_.end_now(victim, caf::sec::runtime_error);
  return true;
}

bool SimulatedSwarm::freeze_child(const std::string& actor, Duration time) {
  const auto found = children_.find(actor);
  if (found == children_.end()) return false;
  frozen_.push_back(found->second);
  clockwork_.stop(found->second);
  agenda_.emplace(clockwork_.now() + time, [this, child = found->second] { clockwork_.resume(child); });
  return true;
}

bool SimulatedSwarm::kill_stage(const std::string& process) {
  auto& stages = processes_.at(process).stages;
  if (stages.empty()) return false;
  clockwork_.end_now(stages.back(), caf::sec::runtime_error);
  stages.pop_back();
  return true;
}

std::optional<SimulatedPort> SimulatedSwarm::port_of(ProcessIncarnation number) const {
  for (const auto& [name, process] : processes_) {
    if (process.number->value == number.value) return process.port;
  }
  return std::nullopt;
}

}  // namespace shoal
