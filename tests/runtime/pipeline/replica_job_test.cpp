// Tests what a job asks of its executor.
#include "runtime/pipeline/replica_job.h"

#include <gtest/gtest.h>

#include "runtime/device/decorators/forwarding_stage_executor.h"
#include "tests/support/bounds/knobs.h"
#include "tests/support/fake_executor.h"

namespace shoal::replica_job_test {
namespace {

// Counts how often its state is laid out.
class CountingDevice final : public ForwardingStageExecutor {
 public:
  CountingDevice() : ForwardingStageExecutor(std::make_unique<FakeExecutor>(FakeShape{.microbatch_count = 4})) {}
  [[nodiscard]] TensorBlob state_image() const override {
    ++laid_out;
    return ForwardingStageExecutor::state_image();
  }
  [[nodiscard]] std::shared_ptr<ImageSource> image_source() override {
    ++laid_out;
    return ForwardingStageExecutor::image_source();
  }
  mutable int laid_out = 0;
};

TEST(ReplicaJob, AnImageIsLaidOutOnceWhateverItsSize) {
  for (const std::uint64_t piece_bytes : {8, 31, 32, 33}) {
    Knobs knobs;
    knobs.set("storage.image_piece_bytes", piece_bytes);
    CountingDevice device;
    const JobResult result = run_job(device, ImageJob{});
    const auto* imaged = std::get_if<Imaged>(&result);
    ASSERT_NE(imaged, nullptr);
    EXPECT_EQ(device.laid_out, 1) << piece_bytes;
    EXPECT_EQ(imaged->bytes_total, 32U);
    EXPECT_EQ(imaged->image.byte_count(), std::min<std::uint64_t>(piece_bytes, 32));
    EXPECT_EQ(imaged->rest != nullptr, piece_bytes < 32) << piece_bytes;
  }
}

}  // namespace
}  // namespace shoal::replica_job_test
