// The thread looks often and sleeps shortly: a mark of a device cannot wake it.
#include "runtime/pipeline/late/late_runner.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "runtime/pipeline/late/end_watch.h"

namespace shoal {
namespace {

constexpr auto kLookEvery = std::chrono::microseconds(50);

// Their results may lack figures; all others have waited for the device.
[[nodiscard]] bool is_streamed(const Job& job) {
  return std::holds_alternative<ForwardJob>(job) || std::holds_alternative<LossJob>(job) ||
         std::holds_alternative<BackwardJob>(job) || std::holds_alternative<AccumulateJob>(job) ||
         std::holds_alternative<EvaluateJob>(job);
}

struct Awaited {
  JobEnd end;
  LateEnding ending;  // without a mark: it failed as it was handed in
};

class LateRunner final : public JobRunner {
 public:
  LateRunner(std::unique_ptr<StageExecutor> executor, LateStageExecutor* device, TellJobEnd tell, LateSettings settings)
      : executor_(std::move(executor)),
        device_(device),
        tell_(std::move(tell)),
        settings_(std::move(settings)),
        watch_(settings_.patience),
        waiter_([this] { wait_for_ends(); }) {}

  ~LateRunner() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    waiter_.join();
  }

  [[nodiscard]] std::optional<JobEnd> begin(const Job& job) override {
    Awaited awaited = hand_in(job);
    const auto* problem = std::get_if<std::exception_ptr>(&awaited.end.outcome);
    if (problem != nullptr && ends_process(*problem)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (awaited_.empty() && !awaited.ending.mark) return std::move(awaited.end);
    awaited_.push_back(std::move(awaited));
    watch_.begin(settings_.clock->now());
    changed_.notify_all();
    return std::nullopt;
  }

  [[nodiscard]] std::vector<std::string> tensor_names() const override { return executor_->tensor_names(); }

 private:
  [[nodiscard]] Awaited hand_in(const Job& job) {
    Awaited awaited{end_of(*executor_, job), {}};
    const bool is_late = device_ != nullptr && is_streamed(job);
    if (!is_late || std::holds_alternative<std::exception_ptr>(awaited.end.outcome)) return awaited;
    try {
      awaited.ending = device_->ending();
    } catch (...) {
      awaited.end = {std::current_exception()};
    }
    return awaited;
  }

  [[nodiscard]] bool ends_process(const std::exception_ptr& problem) const {
    const auto reason = settings_.device_fault(problem);
    if (reason) settings_.end_process(*reason);
    return reason.has_value();
  }

  void wait_for_ends() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      if (awaited_.empty()) {
        changed_.wait(lock);
      } else if (is_oldest_reached(lock)) {
        tell_oldest(lock);
      } else {
        changed_.wait_for(lock, kLookEvery);
      }
    }
  }

  // What the device fails with becomes the oldest job's outcome, or ends the process.
  [[nodiscard]] bool is_oldest_reached(std::unique_lock<std::mutex>& lock) {
    Awaited& oldest = awaited_.front();
    if (!oldest.ending.mark) return true;
    try {
      if (oldest.ending.mark->is_reached()) return true;
    } catch (...) {
      oldest = {{std::current_exception()}, {}};
      if (!ends_process(std::get<std::exception_ptr>(oldest.end.outcome))) return true;
      is_over_ = true;
    }
    const auto reason = is_over_ ? std::nullopt : watch_.hang(settings_.clock->now());
    if (!reason) return false;
    is_over_ = true;
    lock.unlock();
    settings_.end_process(*reason);
    lock.lock();
    return false;
  }

  void tell_oldest(std::unique_lock<std::mutex>& lock) {
    Awaited oldest = std::move(awaited_.front());
    awaited_.pop_front();
    watch_.end(settings_.clock->now());
    lock.unlock();
    auto* result = std::get_if<JobResult>(&oldest.end.outcome);
    if (result != nullptr && oldest.ending.figures) complete(*result, oldest.ending.figures());
    tell_(std::move(oldest.end));
    lock.lock();
  }

  std::unique_ptr<StageExecutor> executor_;
  LateStageExecutor* device_;
  TellJobEnd tell_;
  LateSettings settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Awaited> awaited_;
  EndWatch watch_;
  bool is_over_ = false;
  std::thread waiter_;  // last: it uses all the others
};

struct Completer {
  const LateFigures& figures;

  void operator()(Differentiated& pass) const {
    pass.result.loss_sum = figures.loss_sum;
    if (pass.accumulated) pass.accumulated->bad_tensor = figures.bad_tensor;
  }
  void operator()(Accumulated& pass) const { pass.result.bad_tensor = figures.bad_tensor; }
  void operator()(Evaluated& pass) const { pass.result.loss_sum = figures.loss_sum; }
  template <class Other>
  void operator()(Other& /*has none*/) const {}
};

}  // namespace

void complete(JobResult& result, const LateFigures& figures) { std::visit(Completer{figures}, result); }

std::unique_ptr<JobRunner> run_later(std::unique_ptr<StageExecutor> executor, LateStageExecutor* device,
                                     TellJobEnd tell, LateSettings settings) {
  return std::make_unique<LateRunner>(std::move(executor), device, std::move(tell), std::move(settings));
}

}  // namespace shoal
