// The order of samples: its definition (order.h), pinned; each window once per epoch; seeking equals walking.
#include "runtime/data/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "runtime/base/ensure.h"

namespace shoal::order_test {
namespace {

using Offsets = std::vector<std::uint64_t>;

OrderConfig small(std::uint64_t seed = 7) {
  return OrderConfig{.seed = seed, .context = 4, .sequences = 6, .microbatch = 3, .train_tokens = 30};
}

// The default job on austen.
OrderConfig default_job(std::uint64_t seed = 1) {
  return OrderConfig{.seed = seed, .context = 128, .sequences = 64, .microbatch = 8, .train_tokens = 4025033 - 402503};
}

bool is_bijective(const std::function<std::uint64_t(std::uint64_t)>& function, std::uint64_t size) {
  std::vector<bool> seen(size, false);
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t image = function(i);
    if (image >= size || seen[image]) return false;
    seen[image] = true;
  }
  return true;
}

// Golden values come from an independent program that follows order.h's definition.
TEST(Order, IsTheOrderOfEveryEarlierRun) {
  const Order order(default_job());
  EXPECT_EQ(order.windows_per_epoch(), 28300U);
  EXPECT_EQ(order.offsets(StepId{0}, MicrobatchId{0}),
            (Offsets{2366848, 2556544, 3579520, 2613120, 2212736, 376576, 3383680, 1614208}));
  EXPECT_EQ(order.offsets(StepId{599}, MicrobatchId{7}),
            (Offsets{16814, 943406, 179758, 178094, 1771310, 2375214, 2524718, 3110190}));
  EXPECT_EQ(Order(default_job(2)).offsets(StepId{0}, MicrobatchId{0}),
            (Offsets{230662, 3293062, 406790, 3316870, 2913670, 2155142, 1571078, 3479942}));
  const Order tiny(small());
  EXPECT_EQ(tiny.offsets(StepId{0}, MicrobatchId{0}), (Offsets{2, 22, 14}));
  EXPECT_EQ(tiny.offsets(StepId{0}, MicrobatchId{1}), (Offsets{6, 10, 18}));
  EXPECT_EQ(tiny.offsets(StepId{1}, MicrobatchId{1}), (Offsets{8, 20, 4}));
}

TEST(Order, TakesEachWindowOncePerEpochAndStaysInTheTrainingTokens) {
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t context = 1 + random() % 40;
    const OrderConfig config{.seed = random(),
                             .context = context,
                             .sequences = 1,
                             .microbatch = 1,
                             .train_tokens = 2 * context + random() % 3000};
    const Order order(config);
    const std::uint64_t windows = order.windows_per_epoch();
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::set<std::uint64_t> seen;
      ASSERT_LT(order.shift(epoch), context);
      for (std::uint64_t i = 0; i < windows; ++i) {
        const std::uint64_t offset = order.offset(epoch * windows + i);
        ASSERT_LT(offset + context, config.train_tokens);  // the last target too
        ASSERT_EQ(offset % context, order.shift(epoch));
        ASSERT_TRUE(seen.insert(offset).second) << "window taken twice";
      }
    }
  }
}

TEST(Order, UsesTheTextsEndsToo) {
  // At most 2C - 1 of an epoch's tokens are in no window.
  for (std::uint64_t tokens = 8; tokens < 60; ++tokens) {
    OrderConfig config = small();
    config.train_tokens = tokens;
    EXPECT_GE(Order(config).windows_per_epoch() * config.context + 2 * config.context - 1, tokens);
  }
}

TEST(Order, SeeksToWhereWalkingArrives) {
  const Order order(small());
  std::uint64_t number = 0;
  for (std::uint64_t step = 0; step < 20; ++step) {
    for (std::uint32_t microbatch = 0; microbatch < 2; ++microbatch) {
      Offsets walked;
      for (int k = 0; k < 3; ++k) walked.push_back(order.offset(number++));
      EXPECT_EQ(Order(small()).offsets(StepId{step}, MicrobatchId{microbatch}), walked);
    }
  }
}

TEST(Order, DoesNotDependOnTheMicrobatchSize) {
  OrderConfig whole = small();
  whole.microbatch = 6;
  Offsets joined = Order(small()).offsets(StepId{5}, MicrobatchId{0});
  const Offsets rest = Order(small()).offsets(StepId{5}, MicrobatchId{1});
  joined.insert(joined.end(), rest.begin(), rest.end());
  EXPECT_EQ(Order(whole).offsets(StepId{5}, MicrobatchId{0}), joined);
}

TEST(Order, DiffersBetweenSeedsAndEpochs) {
  const Order one(default_job(1));
  const Order two(default_job(2));
  EXPECT_NE(one.offsets(StepId{3}, MicrobatchId{0}), two.offsets(StepId{3}, MicrobatchId{0}));
  EXPECT_NE(one.shift(0), two.shift(0));
  const KeyedPermutation first(1, 0, 1000);
  const KeyedPermutation second(1, 1, 1000);
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) equal += first(i) == second(i) ? 1 : 0;
  EXPECT_LT(equal, 20);  // about one of 1000 by chance
}

TEST(Order, RefusesWhatItCannotOrder) {
  OrderConfig short_text = small();
  short_text.train_tokens = 7;
  EXPECT_THROW(Order{short_text}, Bug);
  OrderConfig uneven = small();
  uneven.microbatch = 4;
  EXPECT_THROW(Order{uneven}, Bug);
  EXPECT_THROW((void)Order(small()).offsets(StepId{0}, MicrobatchId{2}), Bug);
}

TEST(KeyedPermutation, IsBijectiveAtAnySize) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (std::uint64_t size = 1; size <= 70; ++size) {
    EXPECT_TRUE(is_bijective(KeyedPermutation(random(), random(), size), size)) << "size " << size;
  }
  for (int trial = 0; trial < 20; ++trial) {
    const std::uint64_t size = 1 + random() % 5000;
    EXPECT_TRUE(is_bijective(KeyedPermutation(random(), random(), size), size)) << "size " << size;
  }
  // Negative control: independent draws, which collide, are seen as no permutation.
  EXPECT_FALSE(is_bijective([&random](std::uint64_t) { return random() % 1000; }, 1000));
  EXPECT_FALSE(is_bijective([](std::uint64_t i) { return i + 1; }, 1000));
}

TEST(KeyedPermutation, HandlesLargeSizes) {
  const std::uint64_t size = (std::uint64_t{1} << 40U) + 12345;
  const KeyedPermutation permutation(3, 5, size);
  std::set<std::uint64_t> images;
  for (std::uint64_t i = 0; i < 100; ++i) images.insert(permutation(size - 1 - i));
  EXPECT_EQ(images.size(), 100U);
  EXPECT_LT(*images.rbegin(), size);
  EXPECT_THROW((void)permutation(size), Bug);
}

TEST(KeyedPermutation, SpreadsNeighbours) {
  // The mean distance of the images of neighbours is a third of the size for a random permutation.
  constexpr std::uint64_t kSize = 20000;
  const KeyedPermutation permutation(1, 0, kSize);
  double sum = 0;
  for (std::uint64_t i = 0; i + 1 < kSize; ++i) {
    const std::uint64_t a = permutation(i);
    const std::uint64_t b = permutation(i + 1);
    sum += static_cast<double>(std::max(a, b) - std::min(a, b));
  }
  EXPECT_NEAR(sum / kSize / kSize, 1.0 / 3, 0.02);
}

}  // namespace
}  // namespace shoal::order_test
