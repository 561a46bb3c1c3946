// Measures in what part of the time the stages of a process had work on its device, and what they trained there.
//
//   stage: begins ──▶ DeviceWork, as long as it lives ──▶ DeviceMeter ──▶ replica reports, heartbeats
//
// Several stages may have work there at once; such time counts once. A paced device counts as busy until its pace is
// over. Nothing waits for the device: what is known of it comes with the ends of its jobs. Time comes in. Thread-safe:
// stages and the node agent run on threads of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "messages/values/device_use.h"
#include "runtime/base/clock.h"

namespace shoal {

class DeviceMeter {
 public:
  // Heartbeats tell of at least so long and at most twice as long, once the process is that old.
  static constexpr Duration kWindow = std::chrono::seconds(5);

  // memory: fills in what of a DeviceUse is bytes; called by whoever asks for a use, never under a lock.
  using AskMemory = std::function<DeviceUse()>;
  DeviceMeter(Instant now, AskMemory memory);

  // A stage with so many compute threads lives here now, and does not any more.
  void settle(const DevicePeak& peak, std::uint32_t threads);
  void leave(std::uint32_t threads);

  // A stage has work on the device now, and has none any more.
  void come(Instant now);
  void go(Instant now);
  // A stage that had work has died at an unknown time: what it did since it came counts as idle.
  void vanish();

  void trained(std::uint64_t multiply_adds);

  // A moment, and what had been done by then. One that was never set is no moment.
  struct Mark {
    Instant at{};
    Duration busy{};
    std::uint64_t multiply_adds = 0;  // differences count: it begins again at 0 after 2^64
  };
  // Returns the use since the mark, and sets the mark to now. Nothing was measured since an unset mark.
  [[nodiscard]] DeviceUse since(Mark& mark, Instant now) const;
  // Returns the use of the last seconds. For one asker, again and again.
  [[nodiscard]] DeviceUse lately(Instant now);

 private:
  [[nodiscard]] Mark mark_at(Instant now) const;         // under the lock
  [[nodiscard]] Duration busy_until(Instant now) const;  // under the lock
  [[nodiscard]] DeviceUse between(const Mark& from, const Mark& to) const;

  AskMemory memory_;
  mutable std::mutex mutex_;
  DevicePeak peak_;
  std::uint32_t threads_ = 0;
  int at_work_ = 0;  // stages
  Instant came_{};   // the first of them
  Duration busy_{};  // before that
  std::uint64_t multiply_adds_ = 0;
  Mark older_, newer_;  // the window begins at the older one, and at the newer one as soon as that is old enough
};

// What a stage computes on, and with.
struct StageOnDevice {
  std::shared_ptr<DeviceMeter> meter = nullptr;  // of its process; none: nobody measures
  DevicePeak peak{};
  std::uint32_t threads = 0;
  double multiply_adds = 0;  // of the stage, to train a token
};

// A stage's work on the device, for as long as it lives. A stage that ends by an exception vanishes.
class DeviceWork {
 public:
  explicit DeviceWork(StageOnDevice stage);
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
  ~DeviceWork();

  // has_jobs: whether it has any there now.
  void note(bool has_jobs, Instant now);
  // Both passes over so many tokens have ended.
  void trained(std::uint64_t tokens);
  // Returns the use of the device since the last call; nothing known without a meter.
  [[nodiscard]] DeviceUse take(Instant now);

 private:
  StageOnDevice stage_;
  bool is_there_ = false;
  DeviceMeter::Mark told_;
};

}  // namespace shoal
