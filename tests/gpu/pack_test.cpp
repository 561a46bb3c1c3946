// The folder for a machine with a GPU: it is packed within its size, and says what is missing where there is no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "runtime/base/machine/gpu_driver.h"
#include "runtime/base/machine/scratch_folder.h"

namespace shoal::pack_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Ran {
  int status = -1;
  std::string said;
};

Ran ran(const std::string& command) {
  Ran ran;
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), pipe) != nullptr) ran.said += part.data();
  const int status = ::pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

const std::string kHere = std::string(SHOAL_SOURCE_DIR) + "/tests/gpu";

std::uintmax_t bytes_in(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  return bytes;
}

TEST(Pack, HoldsProgramsPluginAndLibrariesWithinItsSize) {
  if (!fs::exists(std::string(SHOAL_BUILD_DIR) + "/bin/shoal-cuda.so"))
    GTEST_SKIP() << "built without the CUDA toolkit";
  const auto scratch = ScratchFolder::make(fs::temp_directory_path().string(), "shoal-pack-");
  ASSERT_TRUE(scratch.ok());
  const fs::path pack = scratch->path() / "pack";
  const Ran packed = ran(kHere + "/pack " + pack.string() + " " + SHOAL_BUILD_DIR);
  ASSERT_EQ(packed.status, 0) << packed.said;
  for (const char* name : {"bin/shoal", "bin/shoal-worker", "bin/shoal-cuda.so", "bin/tests_gpu_stage", "run",
                           "lib/libcaf_core.so.0.17.6", "pytorch_loop.py", "eager_loop.py", "gpt_reference.py",
                           "bits.sh", "bench/large_state", "bench/large_state_watch.py", "support/paced_run.sh"}) {
    EXPECT_TRUE(fs::exists(pack / name)) << name;
  }
  for (const auto& entry : fs::directory_iterator(pack / "lib")) {
    EXPECT_THAT(entry.path().filename().string(),
                ::testing::Not(::testing::ContainsRegex("torch|c10|libcu|libc\\.so")));
  }
  EXPECT_LE(bytes_in(pack), std::uintmax_t{60} << 20U);
  if (usable_devices(ask_gpu_driver())) return;
  const Ran run = ran(pack.string() + "/run");
  EXPECT_EQ(run.status, 77) << run.said;
  EXPECT_THAT(run.said, HasSubstr("no NVIDIA driver"));
}

TEST(Pack, DoesNotTouchAFolderOfOthers) {
  const auto scratch = ScratchFolder::make(fs::temp_directory_path().string(), "shoal-pack-");
  ASSERT_TRUE(scratch.ok());
  fs::create_directories(scratch->path() / "mine" / "work");
  const Ran refused = ran(kHere + "/pack " + (scratch->path() / "mine").string() + " " + SHOAL_BUILD_DIR);
  EXPECT_NE(refused.status, 0);
  EXPECT_TRUE(fs::exists(scratch->path() / "mine" / "work"));
}

TEST(Run, SaysThatItsFolderIsNotPacked) {
  const Ran run = ran(kHere + "/run");
  EXPECT_EQ(run.status, 77);
  EXPECT_THAT(run.said, HasSubstr("tests/gpu/pack DIR"));
}

TEST(Run, RefusesAPartThatItDoesNotHave) {
  const Ran run = ran(kHere + "/run bits fautls");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.said, HasSubstr("fautls is none of: tests bits"));
}

}  // namespace
}  // namespace shoal::pack_test
