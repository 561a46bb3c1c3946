// One queue of events; letters and work end at times, and what follows from them is done then.
#include "runtime/plan/step/step_simulation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/executor/stage_executor.h"
#include "runtime/pipeline/compute_queue.h"
#include "runtime/pipeline/dispatch.h"
#include "runtime/plan/step/ring_time.h"
#include "runtime/plan/step/step_moves.h"
#include "runtime/sync/ring.h"

namespace shoal {
namespace {

constexpr std::size_t kSpawner = std::numeric_limits<std::size_t>::max();
constexpr double kMsOfASecond = 1e3;

// Samples without content: only their way is simulated.
class NoSamples final : public SampleSource {
 public:
  [[nodiscard]] Result<Sample> training(StepId /*step*/, MicrobatchId /*microbatch*/) const override {
    return Sample{};
  }
  [[nodiscard]] std::uint32_t evaluation_count(EvaluationExtent /*extent*/) const override { return 1; }
  [[nodiscard]] std::uint64_t evaluation_windows(EvaluationExtent /*extent*/) const override { return 1; }
  [[nodiscard]] Result<Sample> evaluation(MicrobatchId /*microbatch*/) const override { return Sample{}; }
};

// A microbatch at one replica.
struct Visit {
  Forward forward;
  Hop timing;
  double ready_s = 0;
  std::vector<Hop> trail;  // of the stages behind it, once they answered
};

struct Replica {
  explicit Replica(const PipelineConfig& pipeline, StageId stage)
      : queue(pipeline.schedule, accumulations_that_may_wait(pipeline, stage)) {}
  Incarnation id;  // a machine that has moved has a new one; modulo the number of machines it tells which one it is
  ComputeQueue queue;
  std::map<MicrobatchId, Visit> visits;
  bool is_busy = false;
  double busy_until_s = 0;
  int accumulations = 0;  // that wait
};

DataLoaderConfig loader_config(const StepScene& scene) {
  DataLoaderConfig config;
  config.term = Term{1};
  config.stages = static_cast<std::uint32_t>(scene.config.pipeline.stages);
  config.microbatches = static_cast<std::uint32_t>(microbatches_per_step(scene.config));
  config.credits = credits_per_first_replica(scene.config);
  config.credits_most = credits_at_most(scene.config);
  config.routing = scene.config.pipeline.routing;
  config.seed = scene.config.run.seed;
  config.target_steps = scene.steps + 1;
  config.holders_timeout = std::chrono::milliseconds(500);  // nobody answers here
  return config;
}

class StepSimulation {
 public:
  explicit StepSimulation(const StepScene& scene)
      : scene_(scene), loader_(loader_config(scene), samples_), moves_(scene) {}

  std::vector<SimulatedStep> run() {
    ENSURE(std::ranges::none_of(moves_.members(), &std::vector<std::size_t>::empty), "every stage has a machine");
    for (std::size_t i = 0; i < scene_.machines.size(); ++i) {
      const StageId stage{static_cast<std::uint32_t>(moves_.stage_of(i))};
      replicas_.emplace_back(scene_.config.pipeline, stage);
      replicas_.back().id = Incarnation{i + 1};
      (void)loader_.follow(entry(AddReplica{stage, {}, replicas_.back().id, {}, 0}), now());
    }
    if (moves_.next_s()) at(*moves_.next_s(), [this] { decide_move(); });
    (void)loader_.tick(now());  // asks who holds what, and then nobody answers
    begin_step();
    perform(loader_.tick(now() + loader_config(scene_).holders_timeout));
    while (!events_.empty() && steps_.size() <= scene_.steps) {
      const Event event = events_.top();
      events_.pop();
      now_s_ = event.at_s;
      event.happens();
    }
    steps_.resize(std::min(steps_.size(), scene_.steps));
    return std::move(steps_);
  }

 private:
  struct Event {
    double at_s = 0;
    std::uint64_t number = 0;
    std::function<void()> happens;
    friend bool operator>(const Event& a, const Event& b) {
      return std::pair(a.at_s, a.number) > std::pair(b.at_s, b.number);
    }
  };

  [[nodiscard]] std::size_t machine_of(Incarnation replica) const {
    return static_cast<std::size_t>((replica.value - 1) % scene_.machines.size());
  }
  [[nodiscard]] Instant now() const {
    return Instant{} + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(now_s_));
  }
  [[nodiscard]] const StepLink& link_of(std::size_t process) const {
    return process == kSpawner ? scene_.spawner : scene_.machines[process].link;
  }
  [[nodiscard]] double latency_s(std::size_t a, std::size_t b) const {
    return link_between(link_of(a), link_of(b)).latency_s;
  }
  JournalEntry entry(JournalBody body) { return {JournalPosition{++position_}, {}, Term{1}, std::move(body)}; }

  void at(double at_s, std::function<void()> happens) { events_.push({at_s, ++events_made_, std::move(happens)}); }
  void send(std::size_t from, std::size_t to, double bytes, const std::function<void(double)>& arrives);

  void begin_step() {
    steps_.push_back({0, std::vector<std::uint32_t>(scene_.machines.size(), 0), {}, 0});
    began_s_ = now_s_;
    is_ending_ = false;
  }
  void perform(const std::vector<Letter>& letters);
  void end_step();
  void decide_move();
  void move();
  [[nodiscard]] double frozen_s(std::size_t machine) const;
  [[nodiscard]] double voted_s(std::size_t stage) const;

  void take(std::size_t machine, const Forward& forward, double transfer_s);
  void take_answer(std::size_t machine, MicrobatchId microbatch, const std::vector<Hop>& trail, double transfer_s);
  void work(std::size_t machine);
  void done(std::size_t machine, const Task& task, WeightGradients when, double took_s);
  void pass_on(std::size_t machine, const Visit& visit);
  void answer(std::size_t machine, MicrobatchId microbatch);
  [[nodiscard]] WeightGradients gradients_of(std::size_t machine, MicrobatchId microbatch) const;
  [[nodiscard]] int passes_of(std::size_t machine, const Task& task, WeightGradients when) const;
  [[nodiscard]] double pass_s(std::size_t machine) const;
  [[nodiscard]] bool is_last(std::size_t machine) const {
    return moves_.stage_of(machine) + 1 == moves_.members().size();
  }

  const StepScene& scene_;
  NoSamples samples_;
  DataLoaderCore loader_;
  StepMoves moves_;
  std::vector<Replica> replicas_;  // index = machine
  std::map<std::pair<std::size_t, std::size_t>, double> free_s_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<SimulatedStep> steps_;
  double now_s_ = 0;
  double began_s_ = 0;
  bool is_ending_ = false;
  std::uint64_t position_ = 0;
  std::uint64_t events_made_ = 0;
  std::uint64_t newest_ = 0;  // of the incarnations, a multiple of the machines' count
};

// arrives: hears how long the letter alone kept its way busy.
void StepSimulation::send(std::size_t from, std::size_t to, double bytes, const std::function<void(double)>& arrives) {
  const double takes_s = 8 * bytes / link_between(link_of(from), link_of(to)).bit_s;
  double& free_s = free_s_[{from, to}];
  free_s = std::max(free_s, now_s_) + takes_s;
  at(free_s + latency_s(from, to), [arrives, takes_s] { arrives(takes_s); });
}

void StepSimulation::perform(const std::vector<Letter>& letters) {
  for (const Letter& letter : letters) {
    if (const auto* forward = std::get_if<Forward>(&letter.body)) {
      const std::size_t first = machine_of(forward->path.front());
      for (const Incarnation hop : forward->path) ++steps_.back().shares[machine_of(hop)];
      const auto arrives = [this, first, sent = *forward](double transfer_s) { take(first, sent, transfer_s); };
      send(kSpawner, first, scene_.token_bytes, arrives);
    } else if (std::holds_alternative<AllAnswered>(letter.body) && !is_ending_) {
      is_ending_ = true;
      double voted = now_s_;
      for (std::size_t stage = 0; stage < moves_.members().size(); ++stage) voted = std::max(voted, voted_s(stage));
      at(voted + scene_.commit_s, [this] { end_step(); });
    }
  }
}

void StepSimulation::end_step() {
  steps_.back().takes_s = now_s_ - began_s_;
  Commit commit;
  commit.step = StepId{steps_.size() - 1};
  for (Replica& replica : replicas_) replica.visits.clear(), replica.queue.clear(), replica.accumulations = 0;
  for (const auto& members : moves_.members()) steps_.back().replicas.push_back(members.size());
  begin_step();
  perform(loader_.follow(entry(commit), now()));
  move();
  steps_[steps_.size() - 2].moves = moves_.moves();
}

void StepSimulation::decide_move() {
  const double steps = std::max<double>(1, static_cast<double>(steps_.size() - 1));
  if (const auto machine = moves_.decide(now_s_, now_s_ / steps)) loader_.avoid({replicas_[*machine].id});
  at(*moves_.next_s(), [this] { decide_move(); });
}

// A leaver was avoided since the move was decided: nothing of the new step has gone there. A machine that comes back is
// another replica.
void StepSimulation::move() {
  const auto change = moves_.committed(now_s_);
  if (!change) return;
  Replica& replica = replicas_[change->machine];
  const StageId stage{static_cast<std::uint32_t>(change->stage)};
  if (!change->joins) {
    perform(loader_.follow(entry(RemoveReplica{stage, replica.id, {}}), now()));
    return loader_.avoid({});
  }
  replica = Replica(scene_.config.pipeline, stage);
  newest_ += scene_.machines.size();
  replica.id = Incarnation{newest_ + change->machine + 1};
  perform(loader_.follow(entry(AddReplica{stage, {}, replica.id, {}, steps_.size() - 1}), now()));
}

// A member's manifest is made when its weights' gradients are all there.
double StepSimulation::frozen_s(std::size_t machine) const {
  const Replica& replica = replicas_[machine];
  const double ordered_s = now_s_ + latency_s(kSpawner, machine);
  return std::max(ordered_s, replica.busy_until_s) + replica.accumulations * pass_s(machine);
}

// Manifests go to the spawner, the order to reduce comes back, the sum goes round, votes go to the spawner.
double StepSimulation::voted_s(std::size_t stage) const {
  const auto& members = moves_.members()[stage];
  double manifests_s = 0;
  double away_s = 0;
  for (const std::size_t machine : members) {
    away_s = std::max(away_s, latency_s(kSpawner, machine));
    manifests_s = std::max(manifests_s, frozen_s(machine) + latency_s(kSpawner, machine));
  }
  std::vector<StepLink> hops;
  for (std::size_t i = 0; i < members.size(); ++i) {
    hops.push_back(link_between(link_of(members[i]), link_of(members[(i + 1) % members.size()])));
  }
  const double sum_bytes = scene_.sum_bytes[stage];
  const bool is_exact = scene_.config.sync.reduction == Reduction::kExact;
  const std::uint64_t bucket_bytes =
      is_exact ? bucket_bytes_of_ring(static_cast<std::uint64_t>(sum_bytes), members.size()) : kBucketBytes;
  return manifests_s + away_s + ring_time_s(hops, sum_bytes, static_cast<double>(bucket_bytes)) + away_s;
}

void StepSimulation::take(std::size_t machine, const Forward& forward, double transfer_s) {
  const auto transfer_ms = static_cast<float>(transfer_s * kMsOfASecond);
  Visit visit{forward, Hop{replicas_[machine].id, 0, 0, transfer_ms}, now_s_, {}};
  replicas_[machine].visits.insert_or_assign(forward.cause.microbatch, std::move(visit));
  replicas_[machine].queue.add({TaskKind::kForward, forward.cause.microbatch});
  work(machine);
}

void StepSimulation::take_answer(std::size_t machine, MicrobatchId microbatch, const std::vector<Hop>& trail,
                                 double transfer_s) {
  Visit& visit = replicas_[machine].visits.at(microbatch);
  visit.trail = trail;
  visit.timing.transfer_ms += static_cast<float>(transfer_s * kMsOfASecond);
  visit.ready_s = now_s_;
  replicas_[machine].queue.add({TaskKind::kBackward, microbatch});
  work(machine);
}

WeightGradients StepSimulation::gradients_of(std::size_t machine, MicrobatchId microbatch) const {
  const StageId stage{static_cast<std::uint32_t>(moves_.stage_of(machine))};
  const auto count = static_cast<std::uint32_t>(microbatches_per_step(scene_.config));
  const OtherWork other = replicas_[machine].queue.has_pass() ? OtherWork::kWaits : OtherWork::kNone;
  const bool is_later = is_answered_first(microbatch, count, stage, moves_.members()[stage.value].size(), other);
  return is_later ? WeightGradients::kLater : WeightGradients::kAtOnce;
}

double StepSimulation::pass_s(std::size_t machine) const {
  return pass_s_at(scene_.machines[machine], now_s_) * scene_.loads[moves_.stage_of(machine)];
}

int StepSimulation::passes_of(std::size_t machine, const Task& task, WeightGradients when) const {
  if (task.kind == TaskKind::kAccumulate) return 1;
  const int backward = when == WeightGradients::kLater ? 1 : 2;
  if (task.kind == TaskKind::kBackward) return backward;
  return is_last(machine) ? 1 + backward : 1;
}

void StepSimulation::work(std::size_t machine) {
  Replica& replica = replicas_[machine];
  if (replica.is_busy) return;
  const auto task = replica.queue.take(TrainingWork::kAllowed);
  if (!task) return;
  const WeightGradients when = gradients_of(machine, task->microbatch);
  if (task->kind == TaskKind::kAccumulate) {
    --replica.accumulations;
  } else {
    Visit& visit = replica.visits.at(task->microbatch);
    visit.timing.queue_ms += static_cast<float>((now_s_ - visit.ready_s) * kMsOfASecond);
  }
  const double takes_s = passes_of(machine, *task, when) * pass_s(machine);
  replica.is_busy = true;
  replica.busy_until_s = now_s_ + takes_s;
  at(replica.busy_until_s,
     [this, machine, done_task = *task, when, takes_s] { done(machine, done_task, when, takes_s); });
}

void StepSimulation::done(std::size_t machine, const Task& task, WeightGradients when, double took_s) {
  Replica& replica = replicas_[machine];
  replica.is_busy = false;
  const auto found = replica.visits.find(task.microbatch);
  if (found != replica.visits.end() && task.kind != TaskKind::kAccumulate) {
    Visit& visit = found->second;
    visit.timing.compute_ms += static_cast<float>(took_s * kMsOfASecond);
    if (task.kind == TaskKind::kForward && !is_last(machine)) {
      pass_on(machine, visit);
    } else {
      if (when == WeightGradients::kLater) {
        replica.queue.add({TaskKind::kAccumulate, task.microbatch});
        ++replica.accumulations;
      }
      answer(machine, task.microbatch);
    }
  }
  work(machine);
}

void StepSimulation::pass_on(std::size_t machine, const Visit& visit) {
  const std::size_t stage = moves_.stage_of(machine);
  const std::size_t next = machine_of(visit.forward.path[stage + 1]);
  const auto arrives = [this, next, forward = visit.forward](double transfer_s) { take(next, forward, transfer_s); };
  send(machine, next, static_cast<double>(scene_.borders[stage].activation), arrives);
}

void StepSimulation::answer(std::size_t machine, MicrobatchId microbatch) {
  const Visit& visit = replicas_[machine].visits.at(microbatch);
  std::vector<Hop> trail = visit.trail;
  trail.push_back(visit.timing);
  const std::size_t stage = moves_.stage_of(machine);
  if (stage > 0) {
    const std::size_t before = machine_of(visit.forward.path[stage - 1]);
    const auto arrives = [this, before, microbatch, trail](double s) { take_answer(before, microbatch, trail, s); };
    send(machine, before, static_cast<double>(scene_.borders[stage - 1].gradient), arrives);
    return;
  }
  Backward backward;
  backward.cause = visit.forward.cause;
  backward.trail = std::move(trail);
  backward.token_count = 1;
  send(machine, kSpawner, scene_.answer_bytes,
       [this, backward](double /*transfer_s*/) { perform(loader_.answered(backward, now())); });
}

}  // namespace

std::vector<SimulatedStep> simulate_steps(const StepScene& scene) { return StepSimulation(scene).run(); }

}  // namespace shoal
