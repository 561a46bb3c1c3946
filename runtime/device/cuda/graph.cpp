// Other threads may allocate while this one records: their work is none of the graph's.
#include "runtime/device/cuda/graph.h"

#include <ATen/cuda/CUDAGraph.h>

namespace shoal {
namespace {

class CudaGraph final : public DeviceGraph {
 public:
  explicit CudaGraph(const Work& work) {
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      results_ = work();
    } catch (...) {
      end_quietly();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }
  [[nodiscard]] const std::vector<at::Tensor>& results() const override { return results_; }

 private:
  // A recording that failed fails at its end, too; the first failure is what is told.
  void end_quietly() noexcept {
    try {
      graph_.capture_end();
    } catch (...) {
      results_.clear();
    }
  }

  at::cuda::CUDAGraph graph_;
  std::vector<at::Tensor> results_;
};

}  // namespace

std::unique_ptr<DeviceGraph> record_graph(const DeviceGraph::Work& work) { return std::make_unique<CudaGraph>(work); }

}  // namespace shoal
