// Error feedback: over many rounds only the last one's error is missing.
#include "runtime/sync/wire/error_feedback.h"

#include <gtest/gtest.h>

#include "runtime/base/ensure.h"
#include "runtime/sync/wire/payload.h"
#include "tests/runtime/sync/random_floats.h"

namespace shoal::error_feedback_test {
namespace {

// The relative L2 of what so many rounds of the same contribution delivered, against what they should have.
double error_after(int rounds, bool is_fed_back) {
  const auto values = student_t3_values(8, 1000);
  const auto payload = make_payload(DType::kFloat32, WireFormat::kE3m0);
  ErrorFeedback feedback;
  std::vector<float> delivered(values.size(), 0);
  std::vector<float> wanted(values.size(), 0);
  for (int round = 0; round < rounds; ++round) {
    const TensorBlob sent = is_fed_back ? feedback.corrected(3, blob_of(values)) : blob_of(values);
    std::vector<float> lost(values.size());
    const auto packed = payload->pack({sent.bytes->data(), sent.byte_count()}, lost);
    std::vector<float> got(values.size());
    payload->unpack(*packed, std::as_writable_bytes(std::span(got)));
    feedback.keep(3, blob_of(lost));
    for (std::size_t at = 0; at < values.size(); ++at) {
      delivered[at] += got[at];
      wanted[at] += values[at];
    }
  }
  return relative_l2(delivered, wanted);
}

TEST(ErrorFeedback, LeavesOneRoundsErrorOfMany) {
  const double once = error_after(1, true);
  const double many = error_after(40, true);
  std::printf("E3M0 with error feedback: relative L2 %.4f after 1 round, %.4f after 40; without: %.4f\n", once, many,
              error_after(40, false));
  EXPECT_LT(many, once / 10);
  EXPECT_NEAR(error_after(40, false), once, 1e-3) << "control: without it the error stays";
}

TEST(ErrorFeedback, KeepsChainsApartAndForgets) {
  const TensorBlob two = blob_of(std::vector<float>{2, 2});
  ErrorFeedback feedback;
  EXPECT_EQ(feedback.corrected(1, two).bytes, two.bytes) << "nothing kept: the contribution itself";
  feedback.keep(1, blob_of(std::vector<float>{0.5F, -1}));
  EXPECT_EQ(floats_of(feedback.corrected(1, two)), (std::vector<float>{2.5F, 1}));
  EXPECT_EQ(floats_of(two), (std::vector<float>{2, 2})) << "the contribution was written";
  EXPECT_EQ(feedback.corrected(0, two), two);
  EXPECT_THROW((void)feedback.corrected(1, blob_of(std::vector<float>{1})), Bug);
  feedback.keep(1, {});
  EXPECT_EQ(feedback.corrected(1, two), two);
  feedback.keep(1, two);
  feedback.forget();
  EXPECT_EQ(feedback.corrected(1, two), two);
}

TEST(ErrorFeedback, IsOfTheFirstPartAlone) {
  const TensorBlob ones = blob_of(std::vector<float>{1, 1, 1, 1, 1, 1});
  const TensorBlob residual = blob_of(std::vector<float>{2, -2, 2, -2, 2, -2});
  ErrorFeedback of_parts{3};
  EXPECT_FALSE(of_parts.corrects(0));
  of_parts.keep(0, residual);
  EXPECT_TRUE(of_parts.corrects(0));
  EXPECT_EQ(floats_of(of_parts.corrected(0, ones)), (std::vector<float>{3, -1, 1, 1, 1, 1}));
  ErrorFeedback of_deltas;  // the control
  of_deltas.keep(0, residual);
  EXPECT_EQ(floats_of(of_deltas.corrected(0, ones)), (std::vector<float>{3, -1, 3, -1, 3, -1}));
}

}  // namespace
}  // namespace shoal::error_feedback_test
