// Words that name devices, and words that do not.
#include "runtime/executor/device_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::device_name_test {
namespace {

TEST(DeviceName, NamesAProcessorAPaceAGpuOrAll) {
  EXPECT_EQ(parse_device("cpu")->kind, DeviceKind::kCpu);
  EXPECT_EQ(parse_device("cuda")->kind, DeviceKind::kEveryCuda);
  EXPECT_EQ(parse_device("cuda:0")->kind, DeviceKind::kCuda);
  EXPECT_EQ(parse_device("cuda:12")->index, 12);
  EXPECT_EQ(parse_device("paced:2.5")->kind, DeviceKind::kPaced);
  EXPECT_EQ(parse_device("paced:2.5")->pace_ms, 2.5);
  EXPECT_TRUE(parse_device("paced:2.5")->pace_changes.empty());
  const auto changing = parse_device("paced:150@40:450@80.5:150");
  EXPECT_EQ(changing->pace_ms, 150);
  EXPECT_THAT(changing->pace_changes, ::testing::ElementsAre(PaceChange{40, 450}, PaceChange{80.5, 150}));
}

TEST(DeviceName, IsReadToItsEnd) {
  for (const std::string word : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1.5", "cuda:256", "cudas",
                                 "paced:", "paced:-1", "paced:1x", "paced:1@", "paced:1@5", "paced:1@x:2",
                                 "paced:1@0:2", "paced:1@5:2@5:3", "paced:1@5:2@4:3", "paced:1@5:-2", "paced:1@5:2@"}) {
    const auto name = parse_device(word);
    ASSERT_FALSE(name.ok()) << word;
    EXPECT_EQ(name.failure().error, Error::kUsage);
    EXPECT_THAT(name.failure().message, ::testing::HasSubstr("device '" + word + "'"));
  }
}

}  // namespace
}  // namespace shoal::device_name_test
