// Two threads: one calls the library, the other looks how long a call takes.
#include "runtime/device/nccl/nccl_runner.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "runtime/base/compose.h"
#include "runtime/base/time/watched_time.h"
#include "runtime/device/nccl/nccl_session.h"

namespace shoal {
namespace {

constexpr auto kLookEvery = std::chrono::microseconds(100);
constexpr auto kWatchEvery = std::chrono::milliseconds(100);

class NcclRunner final : public CollectiveRunner {
 public:
  explicit NcclRunner(NcclRunnerSettings settings)
      : settings_(std::move(settings)), caller_([this] { call(); }), watcher_([this] { watch(); }) {}

  ~NcclRunner() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    caller_.join();
    {
      const std::lock_guard lock(mutex_);
      has_called_ = true;
    }
    changed_.notify_all();
    watcher_.join();
  }

  // A later order makes void whatever has not begun: an order is of a higher epoch than those before it.
  void hand_in(CollectiveOrder order) override {
    {
      const std::lock_guard lock(mutex_);
      order_ = std::move(order);
    }
    changed_.notify_all();
  }

 private:
  void call() {
    std::optional<NcclSession> session;
    std::unique_lock lock(mutex_);
    const auto inside = [&](const auto& step) {  // the library has the thread
      since_ = watched_now();
      lock.unlock();
      const auto news = step();
      for (const CollectiveNews& one : news) settings_.tell(one);
      lock.lock();
      since_.reset();
    };
    while (!is_over_) {
      if (order_) {
        const CollectiveOrder order = std::move(*std::exchange(order_, std::nullopt));
        inside([&] { return begin(session, order); });
      } else if (session && session->is_busy()) {
        inside([&] { return session->poll(); });
        if (!order_ && !is_over_ && session->is_busy()) changed_.wait_for(lock, kLookEvery);
      } else {
        changed_.wait(lock);
      }
    }
    inside([&] {
      session.reset();
      return std::vector<CollectiveNews>();
    });
  }

  // The first sum makes the memory. What that throws, torch's errors, is the sum's end; the next one tries again.
  [[nodiscard]] std::vector<CollectiveNews> begin(std::optional<NcclSession>& session, const CollectiveOrder& order) {
    const auto* sum = std::get_if<CollectiveSum>(&order);
    if (!session && sum == nullptr) return {};  // there is nothing to drop
    try {
      if (!session) session.emplace(settings_.library, settings_.make_memory(), settings_.joins);
    } catch (const std::exception& problem) {
      const std::string_view words = problem.what();
      return {CollectiveFailed{sum->order, compose("no memory to sum in: ", words.substr(0, words.find('\n')))}};
    }
    return session->take(order);
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (!has_called_) {
      changed_.wait_for(lock, kWatchEvery);
      if (!since_ || watched_now() - *since_ <= settings_.patience) continue;
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(settings_.patience).count();
      lock.unlock();
      settings_.end_process(compose("NCCL hangs: a call that should not wait has not come back in ", seconds, " s"));
      return;
    }
  }

  [[nodiscard]] Duration watched_now() {
    time_.look(settings_.clock->now());
    return time_.watched();
  }

  NcclRunnerSettings settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<CollectiveOrder> order_;  // the newest that has not been taken
  WatchedTime time_{10 * kWatchEvery};
  std::optional<Duration> since_;  // on our watch: the library has the thread
  bool is_over_ = false;
  bool has_called_ = false;
  std::thread caller_;  // last: they use all the others
  std::thread watcher_;
};

}  // namespace

std::unique_ptr<CollectiveRunner> run_nccl(NcclRunnerSettings settings) {
  return std::make_unique<NcclRunner>(std::move(settings));
}

}  // namespace shoal
