// Which models a run of several processes refuses because a message would not hold their sums.
#include "launch/commands/run/run_entry.h"

#include <gtest/gtest.h>

namespace shoal::sums_that_travel_test {
namespace {

// One layer: twelve times width x width parameters, and a few more.
Config model_of(int width) {
  Config config;
  config.model = {.layers = 1, .heads = 1, .width = width, .context = 8, .vocabulary = 256};
  config.pipeline.stages = 1;
  return config;
}

TEST(SumsCanTravel, UpToTheSizeOfAMessage) {
  Config config = model_of(9400);  // 1061 million parameters
  EXPECT_TRUE(check_sums_can_travel(config).ok()) << "4 bytes for each";
  config.sync.reduction = Reduction::kExact;
  const Status refused = check_sums_can_travel(config);
  ASSERT_FALSE(refused.ok()) << "8 bytes for each";
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_NE(refused.failure().message.find("pipeline.stages"), std::string::npos);
  EXPECT_TRUE(check_sums_can_travel(model_of(6600)).ok());
  config.model.width = 6600;  // 523 million
  EXPECT_TRUE(check_sums_can_travel(config).ok());
  EXPECT_FALSE(check_sums_can_travel(model_of(9500)).ok()) << "1084 million";
}

TEST(SumsCanTravel, RoundsGiveMeansAndAveragesBesideThem) {
  Config config = model_of(6600);
  config.sync.reduction = Reduction::kExact;
  config.sync.mode = SyncMode::kDiloco;
  EXPECT_TRUE(check_sums_can_travel(config).ok());
  config.sync.inner_state = InnerState::kAverage;
  EXPECT_FALSE(check_sums_can_travel(config).ok()) << "12 bytes for each";
  config.model.width = 5000;
  EXPECT_TRUE(check_sums_can_travel(config).ok());
}

TEST(SumsCanTravel, OfARoundTheMeanOfItsLargestFragment) {
  Config config = model_of(6600);
  config.model.layers = 4;  // 2091 million
  config.sync.mode = SyncMode::kDiloco;
  const Status refused = check_sums_can_travel(config);
  ASSERT_FALSE(refused.ok()) << "one fragment is the whole stage";
  EXPECT_NE(refused.failure().message.find("sync.fragments"), std::string::npos) << refused.failure().message;
  config.sync.fragments = 2;
  EXPECT_TRUE(check_sums_can_travel(config).ok());
  config.sync.mode = SyncMode::kEveryStep;
  EXPECT_FALSE(check_sums_can_travel(config).ok()) << "steps have no fragments";
}

}  // namespace
}  // namespace shoal::sums_that_travel_test
