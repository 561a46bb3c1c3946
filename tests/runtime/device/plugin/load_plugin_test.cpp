// The border to the module for GPUs: what is refused, and what it says where there is no GPU.
#include "runtime/device/plugin/load_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/base/machine/gpu_driver.h"

namespace shoal::load_plugin_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kPrograms = std::string(SHOAL_BUILD_DIR) + "/bin";

std::string refusal(const std::string& file) {
  const auto plugin = open_plugin(kPrograms + "/" + file);
  if (plugin) return "opened";
  EXPECT_EQ(plugin.failure().error, Error::kUsage);
  return plugin.failure().message;
}

TEST(LoadPlugin, RefusesWhatIsNotThisBuildsModule) {
  EXPECT_THAT(refusal("tests_plugin_strange_build.so"), HasSubstr("is of another build than this program"));
  EXPECT_THAT(refusal("tests_plugin_strange_abi.so"), HasSubstr("is of another build than this program"));
  EXPECT_THAT(refusal("tests_plugin_nothing.so"), HasSubstr("is no part of this program"));
  EXPECT_THAT(refusal("tests_plugin_absent.so"), HasSubstr("build it on a machine with the CUDA toolkit"));
  EXPECT_THAT(refusal("shoal"), HasSubstr("cannot be loaded"));
}

TEST(LoadPlugin, PreparesTheProcessorWithoutAModule) {
  EXPECT_TRUE(prepare_device("cpu", "/nowhere").ok());
  EXPECT_TRUE(prepare_device("paced:1", "/nowhere").ok());
  EXPECT_EQ(device_plugin(), nullptr);
  EXPECT_THAT(device_fingerprint("cpu", 1), HasSubstr("threads 1"));
}

TEST(LoadPlugin, NamesTheDeviceThatCannotBePrepared) {
  if (usable_devices(ask_gpu_driver())) GTEST_SKIP() << "this machine has a GPU";
  const auto refused = prepare_device("cuda:0", kPrograms);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(exit_code(refused.failure().error), 2);
  EXPECT_THAT(refused.failure().message, StartsWith("--device cuda:0: "));
  EXPECT_THAT(refused.failure().message, AnyOf(HasSubstr("driver"), HasSubstr("sees no device")));
}

// The module itself is asked, past the driver: it has loaded torch's CUDA part, and says why it cannot compute.
TEST(LoadPlugin, TheModuleLoadsAndSaysWhyItCannotCompute) {
  if (!std::filesystem::exists(kPrograms + "/" + kDevicePluginFile)) GTEST_SKIP() << "built without the CUDA toolkit";
  const auto plugin = open_plugin(kPrograms + "/" + kDevicePluginFile);
  ASSERT_TRUE(plugin.ok()) << plugin.failure().message;
  const auto ready = (*plugin)->prepare(0);
  if (usable_devices(ask_gpu_driver())) {
    EXPECT_TRUE(ready.ok()) << ready.failure().message;
    return;
  }
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.failure().error, Error::kUsage);
  EXPECT_THAT(ready.failure().message, AnyOf(HasSubstr("driver"), HasSubstr("device")));
}

}  // namespace
}  // namespace shoal::load_plugin_test
