// One order lies on a desk at a time; the thread takes it, reads without the lock, and lays the sample beside it.
#include "launch/processes/text/timely_samples.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

struct Wanted {
  std::optional<StepId> step;  // none: an evaluation's
  MicrobatchId microbatch;

  bool operator==(const Wanted&) const = default;
};

// Questions that come no later one after the other are of one turn of the data loader, which shares the patience.
constexpr Duration kOneTurn = std::chrono::milliseconds(5);

}  // namespace

struct TimelySamples::Desk {
  struct Read {
    Wanted wanted;
    std::optional<Result<Sample>> sample;  // none: the exception
    std::exception_ptr problem;
  };

  std::mutex mutex;
  std::condition_variable is_changed;
  std::optional<Wanted> order;    // that the thread is to take
  std::optional<Wanted> at_work;  // that it has taken
  std::optional<Read> read;       // the newest; nobody has it yet
  bool is_closed = false;
  Instant last_end;   // of the newest question
  Duration waited{};  // by questions that came one right behind the other

  // Returns the sample, or nothing where it is not there in time. Throws what reading it threw.
  std::optional<Result<Sample>> ask(const Wanted& wanted, Duration patience) {
    std::unique_lock lock(mutex);
    const Instant begun = steady_now();
    if (begun - last_end > kOneTurn) waited = {};
    const auto is_there = [&] { return read && read->wanted == wanted; };
    if (!is_there() && at_work != wanted && order != wanted) {
      if (at_work || order) return std::nullopt;
      order = wanted;
      is_changed.notify_all();
    }
    // Another question may have had the next sample read in its place before this one woke.
    const auto is_lost = [&] { return at_work != wanted && order != wanted && !is_there(); };
    is_changed.wait_for(lock, patience - std::min(patience, waited), [&] { return is_there() || is_lost(); });
    last_end = steady_now();
    waited += last_end - begun;
    if (!is_there()) return std::nullopt;
    Read taken = std::move(*std::exchange(read, std::nullopt));
    if (taken.problem) std::rethrow_exception(taken.problem);
    return std::move(taken.sample);
  }

  void serve(const SampleSource& samples) {
    std::unique_lock lock(mutex);
    for (;;) {
      is_changed.wait(lock, [this] { return is_closed || order; });
      if (is_closed) return;
      at_work = std::exchange(order, std::nullopt);
      lock.unlock();
      Read done = read_by(samples, *at_work);
      lock.lock();
      at_work.reset();
      read = std::move(done);
      is_changed.notify_all();
    }
  }

  static Read read_by(const SampleSource& samples, const Wanted& wanted) {
    Read done{wanted, {}, {}};
    try {
      done.sample =
          wanted.step ? samples.training(*wanted.step, wanted.microbatch) : samples.evaluation(wanted.microbatch);
    } catch (...) {
      done.problem = std::current_exception();
    }
    return done;
  }

  void close() {
    const std::lock_guard lock(mutex);
    is_closed = true;
    is_changed.notify_all();
  }
};

TimelySamples::TimelySamples(std::shared_ptr<const SampleSource> samples, std::string name, Duration patience)
    : samples_(std::move(samples)), name_(std::move(name)), patience_(patience), desk_(std::make_shared<Desk>()) {
  std::thread([desk = desk_, from = samples_] { desk->serve(*from); }).detach();
}

TimelySamples::~TimelySamples() { desk_->close(); }

namespace {

Result<Sample> in_time(std::optional<Result<Sample>> sample, const std::string& name) {
  if (sample) return std::move(*sample);
  return fail(Error::kUnreachable, compose(name, " does not answer: a disk or network file system that hangs?"));
}

}  // namespace

Result<Sample> TimelySamples::training(StepId step, MicrobatchId microbatch) const {
  return in_time(desk_->ask({step, microbatch}, patience_), name_);
}
Result<Sample> TimelySamples::evaluation(MicrobatchId microbatch) const {
  return in_time(desk_->ask({std::nullopt, microbatch}, patience_), name_);
}
std::uint32_t TimelySamples::evaluation_count(EvaluationExtent extent) const {
  return samples_->evaluation_count(extent);
}
std::uint64_t TimelySamples::evaluation_windows(EvaluationExtent extent) const {
  return samples_->evaluation_windows(extent);
}

}  // namespace shoal
