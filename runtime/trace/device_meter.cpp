// Adds up the time in which at least one stage had work there.
#include "runtime/trace/device_meter.h"

#include <algorithm>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

[[nodiscard]] std::uint64_t microseconds(Duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

}  // namespace

DeviceMeter::DeviceMeter(Instant now, AskMemory memory)
    : memory_(std::move(memory)), older_{now, {}, 0}, newer_{now, {}, 0} {}

void DeviceMeter::settle(const DevicePeak& peak, std::uint32_t threads) {
  const std::lock_guard lock(mutex_);
  peak_ = peak;
  threads_ += threads;
}

void DeviceMeter::leave(std::uint32_t threads) {
  const std::lock_guard lock(mutex_);
  ENSURE(threads_ >= threads, "a stage leaves that has settled");
  threads_ -= threads;
}

void DeviceMeter::come(Instant now) {
  const std::lock_guard lock(mutex_);
  if (at_work_++ == 0) came_ = now;
}

void DeviceMeter::go(Instant now) {
  const std::lock_guard lock(mutex_);
  ENSURE(at_work_ > 0, "a stage goes that has come");
  busy_ = busy_until(now);
  came_ = now;
  --at_work_;
}

void DeviceMeter::vanish() {
  const std::lock_guard lock(mutex_);
  ENSURE(at_work_ > 0, "a stage vanishes that has come");
  --at_work_;
}

void DeviceMeter::trained(std::uint64_t multiply_adds) {
  const std::lock_guard lock(mutex_);
  multiply_adds_ += multiply_adds;
}

// Clocks of two threads may be read in another order than the lock is taken.
Duration DeviceMeter::busy_until(Instant now) const {
  return at_work_ > 0 ? busy_ + std::max(Duration{}, now - came_) : busy_;
}

DeviceMeter::Mark DeviceMeter::mark_at(Instant now) const { return {now, busy_until(now), multiply_adds_}; }

DeviceUse DeviceMeter::between(const Mark& from, const Mark& to) const {
  DeviceUse use = memory_();
  {
    const std::lock_guard lock(mutex_);
    use.threads = threads_;
    use.peak = peak_;
  }
  const Duration over = std::max(Duration{}, to.at - from.at);
  use.over_us = microseconds(over);
  use.busy_us = microseconds(std::clamp(to.busy - from.busy, Duration{}, over));
  use.multiply_adds = to.multiply_adds - from.multiply_adds;
  return use;
}

DeviceUse DeviceMeter::since(Mark& mark, Instant now) const {
  Mark here;
  {
    const std::lock_guard lock(mutex_);
    here = mark_at(now);
  }
  const Mark from = std::exchange(mark, here);
  return between(from.at == Instant{} ? here : from, here);
}

DeviceUse DeviceMeter::lately(Instant now) {
  Mark here;
  Mark from;
  {
    const std::lock_guard lock(mutex_);
    here = mark_at(now);
    from = older_;
    if (now - newer_.at >= kWindow) older_ = std::exchange(newer_, here);
  }
  return between(from, here);
}

DeviceWork::DeviceWork(StageOnDevice stage) : stage_(std::move(stage)) {
  if (stage_.meter) stage_.meter->settle(stage_.peak, stage_.threads);
}

DeviceWork::~DeviceWork() {
  if (is_there_) stage_.meter->vanish();
  if (stage_.meter) stage_.meter->leave(stage_.threads);
}

void DeviceWork::note(bool has_jobs, Instant now) {
  if (!stage_.meter || has_jobs == is_there_) return;
  has_jobs ? stage_.meter->come(now) : stage_.meter->go(now);
  is_there_ = has_jobs;
}

void DeviceWork::trained(std::uint64_t tokens) {
  if (!stage_.meter) return;
  stage_.meter->trained(static_cast<std::uint64_t>(stage_.multiply_adds * static_cast<double>(tokens)));
}

DeviceUse DeviceWork::take(Instant now) { return stage_.meter ? stage_.meter->since(told_, now) : DeviceUse{}; }

}  // namespace shoal
