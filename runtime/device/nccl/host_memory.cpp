// The values are the blobs' own bytes.
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/device/nccl/collective_memory.h"

namespace shoal {
namespace {

class HostMemory final : public CollectiveMemory {
 public:
  explicit HostMemory(std::shared_ptr<const NcclLibrary> library)
      : library_(std::move(library)), stream_(library_->host.create()) {}
  ~HostMemory() override { library_->host.destroy(stream_); }

  [[nodiscard]] Result<PlacedValues> place(const TensorBlob& contribution) override {
    ENSURE(contribution.bytes != nullptr, "a host sums what is on the host");
    contribution_ = contribution;
    sum_ = std::make_shared<AlignedBuffer>(contribution.byte_count());
    return PlacedValues{contribution.bytes->data(), sum_->data(),
                        static_cast<std::size_t>(contribution.element_count()), stream_};
  }
  [[nodiscard]] Status queued() override { return Done{}; }
  [[nodiscard]] Result<bool> is_done() override {
    const int answer = library_->host.query(stream_);
    if (answer == kNcclSuccess || answer == kNcclInProgress) return answer == kNcclSuccess;
    return fail(Error::kInternal, nccl_failure(*library_, "the sum", answer, nullptr));
  }
  [[nodiscard]] TensorBlob take_sum() override {
    TensorBlob sum{contribution_.dtype, contribution_.shape, std::move(sum_)};
    give_up();
    return sum;
  }
  void give_up() override {
    contribution_ = {};
    sum_.reset();
  }

 private:
  std::shared_ptr<const NcclLibrary> library_;
  void* stream_;
  TensorBlob contribution_;
  std::shared_ptr<AlignedBuffer> sum_;
};

}  // namespace

std::unique_ptr<CollectiveMemory> make_host_memory(std::shared_ptr<const NcclLibrary> library) {
  ENSURE(library->sums_host_memory(), "a library that sums host memory");
  return std::make_unique<HostMemory>(std::move(library));
}

}  // namespace shoal
