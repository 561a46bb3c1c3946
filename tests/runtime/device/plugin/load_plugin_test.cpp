// The border to the module for GPUs: what is refused, and what it says where there is no GPU.
#include "runtime/device/plugin/load_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/base/machine/gpu_driver.h"
#include "runtime/device/executor_factory.h"
#include "runtime/device/text_sampler.h"

namespace shoal::load_plugin_test {
namespace {

using ::testing::AllOf;
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

// A real library whose copy ended early. Whoever opened it would be ended by SIGBUS.
TEST(LoadPlugin, RefusesAModuleThatIsCut) {
  const std::filesystem::path whole = kPrograms + "/tests_plugin_nothing.so";
  const auto copy = std::filesystem::path(::testing::TempDir()) / "shoal-cut-plugin.so";
  std::filesystem::copy_file(whole, copy, std::filesystem::copy_options::overwrite_existing);
  const auto bytes = std::filesystem::file_size(whole);
  for (const std::uintmax_t left : {bytes - 1, bytes / 2, std::uintmax_t{100}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(copy, left);
    const auto opened = open_plugin(copy);
    ASSERT_FALSE(opened.ok()) << left;
    EXPECT_EQ(opened.failure().error, Error::kInvalidData);
    EXPECT_THAT(opened.failure().message,
                AllOf(StartsWith("the part for GPUs, " + copy.string() + ", is cut or damaged (it has " +
                                 std::to_string(left) + " of at least "),
                      HasSubstr("build or install it anew, by launch/set-up all")));
  }
  std::filesystem::remove(copy);
  EXPECT_THAT(refusal("tests_plugin_nothing.so"), HasSubstr("is no part of this program")) << "control";
}

TEST(LoadPlugin, PreparesTheProcessorWithoutAModule) {
  EXPECT_TRUE(prepare_device("cpu", "/nowhere").ok());
  EXPECT_TRUE(prepare_device("paced:1", "/nowhere").ok());
  EXPECT_EQ(device_plugin(), nullptr);
  EXPECT_THAT(device_fingerprint("cpu", 1), HasSubstr("threads 1"));
}

// A processor without units for bf16, as long as this lives.
class WithoutUnits {
 public:
  WithoutUnits() { ::setenv("SHOAL_BF16", "none", 1); }
  ~WithoutUnits() { ::unsetenv("SHOAL_BF16"); }
  WithoutUnits(const WithoutUnits&) = delete;
  WithoutUnits& operator=(const WithoutUnits&) = delete;
};

std::string refusal_of_units(const std::string& device, Precision precision, const DevicePlugin* plugin) {
  ModelConfig model;
  model.precision = precision;
  const Status checked = check_units(device, model, plugin);
  if (checked.ok()) return "";
  EXPECT_EQ(checked.failure().error, Error::kUsage);
  return checked.failure().message;
}

TEST(LoadPlugin, AsksForUnitsOfBf16WhereItIsComputed) {
  const WithoutUnits processor;
  DevicePlugin plugin;
  plugin.check_bf16 = [](int index) -> Status {
    if (index == 0) return Done{};
    return fail(Error::kUsage, "the device has no units for bf16");
  };
  EXPECT_THAT(refusal_of_units("cpu", Precision::kBf16, nullptr), HasSubstr("this processor has no units for bf16"));
  EXPECT_THAT(refusal_of_units("paced:1", Precision::kBf16, &plugin), HasSubstr("this processor"));
  EXPECT_EQ(refusal_of_units("cpu", Precision::kFp32, nullptr), "");
  EXPECT_EQ(refusal_of_units("cuda:0", Precision::kBf16, &plugin), "");
  EXPECT_EQ(refusal_of_units("cuda:1", Precision::kBf16, &plugin), "the device has no units for bf16");
  EXPECT_EQ(refusal_of_units("cuda:1", Precision::kFp32, &plugin), "");
  EXPECT_THAT(refusal_of_units("cuda:0", Precision::kFp32, nullptr), HasSubstr("was not prepared"));
}

// Text of a run in bf16 and its executors: on a GPU the processor is not asked.
TEST(LoadPlugin, WhoComputesOnAGpuNeedsNoUnitsOfTheProcessor) {
  const WithoutUnits processor;
  ASSERT_EQ(device_plugin(), nullptr);
  Config config;
  config.model.precision = Precision::kBf16;
  const auto bytes = std::make_shared<AlignedBuffer>(10);  // an image without tensors
  std::memcpy(bytes->data(), "\2\0\0\0\0\0\0\0{}", 10);
  const TensorBlob image{DType::kUint8, {10}, bytes};
  const auto why = [&](const std::string& device) {
    return TextSampler::make(config, image, device).failure().message;
  };
  EXPECT_THAT(why("cuda:0"), HasSubstr("was not prepared"));
  EXPECT_THAT(why("cpu"), HasSubstr("this processor has no units"));
  const auto why_no_executor = [&](const std::string& device) {
    return make_stage_executor({config, StageId{0}, 1, device}).failure().message;
  };
  EXPECT_THAT(why_no_executor("cuda:0"), HasSubstr("was not prepared"));
  EXPECT_THAT(why_no_executor("cpu"), HasSubstr("this processor has no units"));
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

// A device that is not there stands for one that has failed: torch throws at each of these.
TEST(LoadPlugin, WhatTorchThrowsEndsAtTheModulesFunctions) {
  if (!std::filesystem::exists(kPrograms + "/" + kDevicePluginFile)) GTEST_SKIP() << "built without the CUDA toolkit";
  const auto plugin = open_plugin(kPrograms + "/" + kDevicePluginFile);
  ASSERT_TRUE(plugin.ok()) << plugin.failure().message;
  constexpr int kNowhere = 63;
  const DevicePlugin& module = **plugin;
  static_cast<void>(module.prepare(0));
  EXPECT_THAT(module.fingerprint(kNowhere), StartsWith("LibTorch cannot use the CUDA device"));
  EXPECT_EQ(module.peaks(kNowhere).reserved_bytes, 0U);
  for (const Status& said : {module.check_bf16(kNowhere), module.check_cudnn_attention(kNowhere)}) {
    ASSERT_FALSE(said.ok());
    EXPECT_EQ(said.failure().error, Error::kUsage);
    EXPECT_THAT(said.failure().message, StartsWith("LibTorch cannot use the CUDA device"));
  }
  EXPECT_FALSE(module.memory(kNowhere).ok());
  EXPECT_FALSE(module.identity(kNowhere).ok());
}

}  // namespace
}  // namespace shoal::load_plugin_test
