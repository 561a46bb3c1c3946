// Words that name devices, and words that do not.
#include "runtime/executor/device_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(DeviceName, NamesAProcessorAPaceAGpuOrAll) {
  EXPECT_EQ(parse_device("cpu")->kind, DeviceKind::kCpu);
  EXPECT_EQ(parse_device("cuda")->kind, DeviceKind::kEveryCuda);
  EXPECT_EQ(parse_device("cuda:0")->kind, DeviceKind::kCuda);
  EXPECT_EQ(parse_device("cuda:12")->index, 12);
  EXPECT_EQ(parse_device("paced:2.5")->kind, DeviceKind::kPaced);
  EXPECT_EQ(parse_device("paced:2.5")->pace_ms, 2.5);
}

TEST(DeviceName, IsReadToItsEnd) {
  for (const std::string word :
       {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1.5", "cuda:256", "cudas", "paced:", "paced:-1", "paced:1x"}) {
    const auto name = parse_device(word);
    ASSERT_FALSE(name.ok()) << word;
    EXPECT_EQ(name.failure().error, Error::kUsage);
    EXPECT_THAT(name.failure().message, ::testing::HasSubstr("device '" + word + "'"));
  }
}

}  // namespace
}  // namespace shoal
