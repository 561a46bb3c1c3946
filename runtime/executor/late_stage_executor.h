// A device whose calls return before it has computed: kernels are queued, and their end is seen later.
//
// forward(), backward(), forward_backward(), accumulate() and evaluate() give resident tensors at once, and leave out
// the figures that only the device knows. ending() tells when and how these are read. All other calls wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/executor/device_injury.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

// A point in the order of a device's work. Thread-safe. Both throw what the device has failed with.
class DeviceMark {
 public:
  DeviceMark() = default;
  DeviceMark(const DeviceMark&) = delete;
  DeviceMark& operator=(const DeviceMark&) = delete;
  virtual ~DeviceMark() = default;

  [[nodiscard]] virtual bool is_reached() const = 0;
  virtual void wait() const = 0;
};

// Figures of a call that returned early: what a result says of loss_sum and bad_tensor.
struct LateFigures {
  double loss_sum = 0;
  std::optional<std::string> bad_tensor;
};

struct LateEnding {
  std::shared_ptr<const DeviceMark> mark;  // behind all that was queued so far
  std::function<LateFigures()> figures;    // of the calls since the last ending; once the mark is reached
};

// kAtOnce: every call waits, and tensors come to the host.
enum class Answering : std::uint8_t { kAtOnce, kLater };

class LateStageExecutor : public StageExecutor {
 public:
  // Called after one of those calls, or after several that belong together, by the thread that made them.
  [[nodiscard]] virtual LateEnding ending() = 0;
  // For tests, on the thread that computes. Throws where the fault is met at once.
  virtual void injure(DeviceInjury how) = 0;
};

}  // namespace shoal
