// Features of a build, out of what the worker prints.
#include "launch/commands/inspect/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::versions_test {
namespace {

using ::testing::HasSubstr;

const Feature& named(const std::vector<Feature>& features, const std::string& name) {
  for (const Feature& feature : features) {
    if (feature.name == name) return feature;
  }
  throw std::out_of_range(name);
}

TEST(Versions, AFeatureIsThereWhenTheWorkerSaysSo) {
  const auto features = features_of("cuda yes\nnccl no it is not built in\nother yes\n");
  EXPECT_TRUE(named(features, "cuda").is_there);
  EXPECT_FALSE(named(features, "nccl").is_there);
  EXPECT_EQ(named(features, "nccl").why_not, "it is not built in");
}

TEST(Versions, AWorkerThatSaysNothingHasNothing) {
  for (const Feature& feature : features_of("")) {
    EXPECT_FALSE(feature.is_there) << feature.name;
    EXPECT_THAT(feature.why_not, HasSubstr("shoal-worker"));
  }
}

}  // namespace
}  // namespace shoal::versions_test
