// Memory that is available: of the machine, and within a control group.
#include "runtime/base/machine/available_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/machine/scratch_folder.h"

namespace shoal {
namespace {

class AvailableMemory : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { std::ofstream(folder.path() / name) << text; }
  [[nodiscard]] std::optional<std::uint64_t> read() const {
    return available_memory({(folder.path() / "meminfo").string(), folder.path().string()});
  }

  ScratchFolder folder = std::move(*ScratchFolder::make(std::filesystem::temp_directory_path(), "memory-"));
};

TEST_F(AvailableMemory, IsTheSystemsFigureWithoutALimit) {
  EXPECT_EQ(read(), std::nullopt);
  write("meminfo", "MemTotal:       4000 kB\nMemFree:         1000 kB\nMemAvailable:    2000 kB\nBuffers: 7 kB\n");
  EXPECT_EQ(read(), 2000U * 1024);
  write("memory.max", "max\n");
  write("memory.current", "5\n");
  EXPECT_EQ(read(), 2000U * 1024);
}

TEST_F(AvailableMemory, IsWhatTheControlGroupLeaves) {
  write("meminfo", "MemAvailable:    2000 kB\n");
  write("memory.max", "1000000\n");
  EXPECT_EQ(read(), 1'000'000U);
  write("memory.current", "400000\n");
  EXPECT_EQ(read(), 600'000U);
  write("memory.current", "1400000\n");
  EXPECT_EQ(read(), 0U) << "more is used than the limit, as while it is lowered";
  write("memory.stat", "anon 1\nactive_file 2\ninactive_file 900000\n");
  EXPECT_EQ(read(), 500'000U) << "pages of files are given back";
  write("memory.max", "90000000000\n");
  EXPECT_EQ(read(), 2000U * 1024) << "the machine has less than the group may take";
}

TEST(AvailableMemoryHere, IsSaid) { EXPECT_GT(available_memory().value_or(0), 0U); }

}  // namespace
}  // namespace shoal
