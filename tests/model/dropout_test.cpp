// Masks depend on (seed, step, sample, layer, site) and on nothing else.
#include "model/dropout.h"

#include "model/parts/dropping.h"

#include <gtest/gtest.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>

namespace shoal::dropout_test {
namespace {

const Dropout kDropout{.rate = 0.25, .seed = 3, .step = 9, .first_sample = 4};

at::Tensor mask(const Dropout& dropout, std::int64_t samples, int layer = 1,
                DropoutSite site = DropoutSite::kAttention) {
  return dropout.mask({samples, 32, 48}, layer, site);
}

TEST(Dropout, KeepsTheStatedShareAndTheMean) {
  const at::Tensor masked = mask(kDropout, 16);
  EXPECT_NEAR(masked.eq(0).to(at::kFloat).mean().item<double>(), 0.25, 0.01);
  EXPECT_NEAR(masked.mean().item<double>(), 1, 0.015);
  EXPECT_TRUE(masked.eq(0).logical_or(masked.eq(1 / 0.75F)).all().item<bool>());
}

TEST(Dropout, ASampleHasItsMaskInAnyMicrobatch) {
  Dropout later = kDropout;
  later.first_sample = kDropout.first_sample + 2;
  EXPECT_TRUE(at::equal(mask(kDropout, 4).narrow(0, 2, 2), mask(later, 2)));
}

TEST(Dropout, EveryPartOfItsKeyChangesTheMask) {
  const at::Tensor reference = mask(kDropout, 2);
  EXPECT_TRUE(at::equal(reference, mask(kDropout, 2)));
  Dropout other = kDropout;
  other.seed = 4;
  EXPECT_FALSE(at::equal(reference, mask(other, 2)));
  other = kDropout;
  other.step = 10;
  EXPECT_FALSE(at::equal(reference, mask(other, 2)));
  EXPECT_FALSE(at::equal(reference, mask(kDropout, 2, 2)));
  EXPECT_FALSE(at::equal(reference, mask(kDropout, 2, 1, DropoutSite::kMlp)));
  EXPECT_FALSE(at::equal(reference.select(0, 0), reference.select(0, 1)));
}

TEST(Dropout, OffReturnsItsInput) {
  const at::Tensor x = at::ones({1, 2, 3});
  Tape tape({}, Tape::Keeps::kAll);
  const DropoutPlace place{0, DropoutSite::kEmbedding};
  EXPECT_TRUE(drop(x, place, tape).is_same(x));
  EXPECT_TRUE(drop_backward(x, place, tape).is_same(x));
}

}  // namespace
}  // namespace shoal::dropout_test
