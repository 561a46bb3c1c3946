// Workers that compute step after step, send layers when a schedule says so, and stand still for what has not come:
// a discrete-event simulation.
//
//   step s of a worker:  [wait] forward 0 [wait] forward 1 ... backward 1 [send] backward 0 [send]   (grain: layer)
//                        [wait for all] forward ... backward [send all]                              (grain: step)
//
// Everything that happens at one time happens before any link is given away, so that equal workers stay equal and
// older payloads go first. The same scenario gives the same times to the last bit; jitter comes from the seed.
#pragma once

#include <queue>
#include <vector>

#include "runtime/plan/scenario.h"
#include "runtime/plan/transfer_network.h"

namespace shoal {

// Time at which a worker began a period, and how long it had computed by then.
struct PeriodBegin {
  double time_s = 0;
  double busy_s = 0;
};

// Bits of all workers together, when the last one began a period.
struct PeriodTraffic {
  double contributed_bits = 0;  // bits that they had to send by then
  double sent_bits = 0;
};

class SyncSimulation {
 public:
  // The scenario is checked (problem_of in methods.h).
  explicit SyncSimulation(const Scenario& scenario);

  // Goes on until every worker has begun that period, counted from 0.
  void run_to_period(std::uint64_t period);
  // Goes on until everything is merged everywhere that is needed before that period, and returns when it was.
  [[nodiscard]] double settle(std::uint64_t period);

  [[nodiscard]] PeriodBegin begin_of(std::uint64_t period, std::size_t worker) const;
  [[nodiscard]] PeriodTraffic traffic_at(std::uint64_t period) const { return traffic_[period]; }

 private:
  enum class PointKind : std::uint8_t { kWait, kSend };
  struct Point {
    double offset_s = 0;  // seconds of undisturbed computing since the step's begin
    PointKind kind = PointKind::kWait;
    std::size_t rank = 0;  // rank of the layer, in the order of backward
  };
  struct Worker {
    std::uint64_t step = 0;
    std::size_t point = 0;  // the next one of its step
    double done_s = 0;      // part of the step, in undisturbed time
    double goal_s = 0;      // value of done_s at its next event
    double factor = 1;      // multiplies the step's time
    double busy_s = 0;
    bool is_waiting = false;
    std::vector<PeriodBegin> begins;
  };
  enum class EventKind : std::uint8_t { kComputed, kSent, kArrived };
  struct Event {
    double time_s = 0;
    std::uint64_t order = 0;  // orders events at one time as they were planned
    EventKind kind = EventKind::kComputed;
    std::size_t worker = 0;
    TransferId transfer;
    friend bool operator>(const Event& a, const Event& b) {
      return a.time_s != b.time_s ? a.time_s > b.time_s : a.order > b.order;
    }
  };

  [[nodiscard]] std::vector<Point> points_of(std::uint64_t step) const;
  [[nodiscard]] double send_offset_s(std::size_t layer) const;
  [[nodiscard]] double wait_offset_s(std::size_t layer) const;
  void plan(Event event);
  void happen_next();
  void happen(const Event& event);
  // Takes a worker as far as it comes at this time.
  void advance(std::size_t worker);
  [[nodiscard]] bool pass(std::size_t worker, const Point& point);
  void begin_step(std::size_t worker, std::uint64_t step);
  [[nodiscard]] const std::vector<Point>& points(const Worker& worker) const;

  Scenario scenario_;
  TransferNetwork network_;
  std::vector<std::vector<Point>> points_;  // per step of a period
  std::vector<Worker> workers_;
  std::vector<PeriodTraffic> traffic_;  // per period
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t planned_count_ = 0;
  double now_s_ = 0;
};

}  // namespace shoal
