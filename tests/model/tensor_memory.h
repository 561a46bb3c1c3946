// Counts the memory of torch's tensors on this thread, for as long as it lives: what is there, and the most there was.
// Memory that was there before is not seen, nor is what libraries take without torch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace shoal {

class TensorMemory {
 public:
  [[nodiscard]] std::int64_t bytes() const { return counter_->bytes; }
  [[nodiscard]] std::int64_t most() const { return counter_->most; }
  // Counts the most from here.
  void begin() { counter_->most = counter_->bytes; }

 private:
  struct Counter final : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void* /*at*/, std::int64_t change, std::size_t /*allocated*/, std::size_t /*reserved*/,
                           c10::Device /*device*/) override {
      bytes += change;
      most = std::max(most, bytes);
    }
    [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

    std::int64_t bytes = 0;
    std::int64_t most = 0;
  };

  std::shared_ptr<Counter> counter_ = std::make_shared<Counter>();
  c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, counter_};
};

}  // namespace shoal
