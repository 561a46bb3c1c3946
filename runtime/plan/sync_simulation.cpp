// The loop of events, and a worker's way through its steps.
#include "runtime/plan/sync_simulation.h"

#include <algorithm>

#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"

namespace shoal {

SyncSimulation::SyncSimulation(const Scenario& scenario)
    : scenario_(scenario), network_(scenario.network, payload_bits(scenario)), workers_(scenario.network.workers) {
  for (std::uint64_t step = 0; step < scenario_.schedule.period_steps; ++step) points_.push_back(points_of(step));
  for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
    begin_step(worker, 0);
    plan({0, 0, EventKind::kComputed, worker, {}});
  }
}

double SyncSimulation::wait_offset_s(std::size_t layer) const {
  const Workload& work = scenario_.workload;
  if (scenario_.schedule.grain == SyncGrain::kStep) return 0;
  return work.step_s * work.forward_share * static_cast<double>(layer) / static_cast<double>(work.layers);
}

double SyncSimulation::send_offset_s(std::size_t layer) const {
  const Workload& work = scenario_.workload;
  if (scenario_.schedule.grain == SyncGrain::kStep || layer == 0) return work.step_s;
  const double left = static_cast<double>(layer) / static_cast<double>(work.layers);
  return work.step_s - work.step_s * (1 - work.forward_share) * left;
}

// The same for each step at that place of a period. Waits stand before the steps for which something is due.
std::vector<SyncSimulation::Point> SyncSimulation::points_of(std::uint64_t step) const {
  const SyncSchedule& schedule = scenario_.schedule;
  const std::size_t layers = scenario_.workload.layers;
  const std::uint64_t period = schedule.period_steps;
  const std::uint64_t due_after = step + period - schedule.overlap_steps % period;  // steps, some periods off
  std::vector<Point> waits;
  std::vector<Point> sends;
  for (std::size_t rank = 0; rank < layers; ++rank) {
    const std::size_t layer = layers - 1 - rank;
    const std::size_t fragment = fragment_of(schedule, layers, layer);
    if (contributes_after(schedule, fragment, due_after))
      waits.push_back({wait_offset_s(layer), PointKind::kWait, rank});
    if (contributes_after(schedule, fragment, step + 1))
      sends.push_back({send_offset_s(layer), PointKind::kSend, rank});
  }
  std::ranges::reverse(waits);
  waits.insert(waits.end(), sends.begin(), sends.end());
  return waits;
}

void SyncSimulation::plan(Event event) {
  event.order = planned_count_++;
  events_.push(event);
}

void SyncSimulation::begin_step(std::size_t index, std::uint64_t step) {
  Worker& worker = workers_[index];
  worker.step = step;
  worker.point = 0;
  worker.done_s = worker.goal_s = 0;
  worker.factor = jitter_factor(scenario_.network, step, stream_of("step") + index);
  if (step % scenario_.schedule.period_steps != 0) return;
  worker.begins.push_back({now_s_, worker.busy_s});
  const std::size_t period = worker.begins.size() - 1;
  traffic_.resize(std::max(traffic_.size(), period + 1));
  traffic_[period] = {network_.contributed_bits(), network_.sent_bits(now_s_)};
}

const std::vector<SyncSimulation::Point>& SyncSimulation::points(const Worker& worker) const {
  return points_[worker.step % scenario_.schedule.period_steps];
}

bool SyncSimulation::pass(std::size_t index, const Point& point) {
  const Worker& worker = workers_[index];
  if (point.kind == PointKind::kSend) {
    network_.contribute({worker.step, point.rank}, index);
    return true;
  }
  const std::uint64_t delay = 1 + scenario_.schedule.overlap_steps;
  return worker.step < delay || network_.is_merged({worker.step - delay, point.rank}, index);
}

void SyncSimulation::advance(std::size_t index) {
  Worker& worker = workers_[index];
  worker.done_s = worker.goal_s;
  for (;;) {
    const auto& here = points(worker);
    const bool has_point = worker.point < here.size();
    if (has_point && here[worker.point].offset_s <= worker.done_s) {
      worker.is_waiting = !pass(index, here[worker.point]);
      if (worker.is_waiting) return;
      ++worker.point;
    } else if (!has_point && worker.done_s >= scenario_.workload.step_s) {
      begin_step(index, worker.step + 1);
    } else {
      worker.goal_s = has_point ? here[worker.point].offset_s : scenario_.workload.step_s;
      const double duration_s = (worker.goal_s - worker.done_s) * worker.factor;
      worker.busy_s += duration_s;
      return plan({now_s_ + duration_s, 0, EventKind::kComputed, index, {}});
    }
  }
}

void SyncSimulation::happen(const Event& event) {
  switch (event.kind) {
    case EventKind::kComputed: return advance(event.worker);
    case EventKind::kSent: return network_.end_sending(event.transfer);
    case EventKind::kArrived: {
      network_.arrive(event.transfer, now_s_);
      const std::size_t receiver = network_.receiver(event.transfer);
      if (workers_[receiver].is_waiting) advance(receiver);
    }
  }
}

void SyncSimulation::happen_next() {
  ENSURE(!events_.empty(), "somebody computes, or something is on its way");
  now_s_ = events_.top().time_s;
  while (!events_.empty() && events_.top().time_s <= now_s_) {
    const Event event = events_.top();
    events_.pop();
    happen(event);
  }
  for (const StartedTransfer& started : network_.start_ready(now_s_)) {
    plan({started.sent_s, 0, EventKind::kSent, 0, started.id});
    plan({started.arrives_s, 0, EventKind::kArrived, 0, started.id});
  }
}

void SyncSimulation::run_to_period(std::uint64_t period) {
  while (std::ranges::any_of(workers_, [period](const Worker& worker) { return worker.begins.size() <= period; })) {
    happen_next();
  }
}

double SyncSimulation::settle(std::uint64_t period) {
  run_to_period(period);
  double end_s = 0;
  for (const Worker& worker : workers_) end_s = std::max(end_s, worker.begins[period].time_s);
  const std::uint64_t steps = period * scenario_.schedule.period_steps;
  const std::uint64_t delay = 1 + scenario_.schedule.overlap_steps;
  if (steps < delay) return end_s;
  while (!network_.is_settled(steps - delay)) happen_next();
  return std::max(end_s, network_.settled_s(steps - delay));
}

PeriodBegin SyncSimulation::begin_of(std::uint64_t period, std::size_t worker) const {
  return workers_[worker].begins[period];
}

}  // namespace shoal
