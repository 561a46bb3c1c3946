// A state that is loaded piece by piece is the one that is loaded at once.
#include "runtime/executor/load_image.h"

#include <gtest/gtest.h>

#include "tests/support/bounds/knobs.h"
#include "tests/support/fake_executor.h"

namespace shoal::load_image_test {
namespace {

FakeExecutor executor_of(std::uint32_t microbatches) {
  return FakeExecutor(FakeShape{.stage = 0, .stage_count = 1, .microbatch_count = microbatches});
}

class BrokenImage final : public ImageSource {
 public:
  [[nodiscard]] std::uint64_t byte_count() const override { return 48; }
  [[nodiscard]] Result<TensorBlob> read(std::uint64_t, std::size_t) override { return fail(Error::kIo, "no disk"); }
};

TEST(LoadImage, LoadsItInPiecesOfAnySize) {
  FakeExecutor donor = executor_of(6);
  ASSERT_TRUE(donor.load_state(make_values(DType::kInt64, {1, 2, 3, 4, 5, 6})).ok());
  for (const std::uint64_t size : {1, 7, 16, 48, 1000}) {
    Knobs knobs;
    knobs.set("storage.image_piece_bytes", size);
    FakeExecutor receiver = executor_of(6);
    EXPECT_NE(receiver.state_digest(), donor.state_digest());
    EXPECT_TRUE(load_image(receiver, *donor.image_source()).ok());
    EXPECT_EQ(receiver.state_digest(), donor.state_digest()) << size;
  }
}

TEST(LoadImage, TellsWhatGoesWrong) {
  FakeExecutor receiver = executor_of(6);
  BrokenImage broken;
  const Status unread = load_image(receiver, broken);
  ASSERT_FALSE(unread.ok());
  EXPECT_EQ(unread.failure().error, Error::kIo);
  WholeImage of_another(make_values(DType::kInt64, {1, 2}));
  const Status refused = load_image(receiver, of_another);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
}

}  // namespace
}  // namespace shoal::load_image_test
