// Memory that is available: of the machine, and within a control group.
#include "runtime/base/machine/available_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "runtime/base/machine/scratch_folder.h"

namespace shoal::available_memory_test {
namespace {

class AvailableMemory : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name) << text;
  }
  [[nodiscard]] MemoryFiles files() const {
    const auto at = [this](const char* name) { return (folder.path() / name).string(); };
    return {at("meminfo"), folder.path().string(), at("own")};
  }
  [[nodiscard]] std::optional<std::uint64_t> read() const { return available_memory(files()); }

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

// As in a step of Slurm, or a service of systemd, which see the whole tree.
TEST_F(AvailableMemory, IsTheLeastOfTheGroupAndThoseAroundIt) {
  write("meminfo", "MemAvailable:    2000 kB\n");
  write("own", "0::/slurm/job_7/step_0\n");
  write("slurm/job_7/step_0/memory.max", "max\n");
  EXPECT_EQ(read(), 2000U * 1024);
  write("slurm/job_7/memory.max", "1000000\n");
  write("slurm/job_7/memory.current", "300000\n");
  EXPECT_EQ(read(), 700'000U);
  write("slurm/job_7/step_0/memory.max", "500000\n");
  EXPECT_EQ(read(), 500'000U);
  write("slurm/job_8/memory.max", "1\n");
  EXPECT_EQ(read(), 500'000U) << "another's";
  write("own", "0::/of/the/host\n");
  EXPECT_EQ(read(), 2000U * 1024) << "a path that is not there";
  write("own", "0::/../slurm/job_8\n");
  EXPECT_EQ(read(), 2000U * 1024) << "outside of what this process sees";
}

TEST_F(AvailableMemory, IsOutOfAWholeThatStaysWhoeverHasIt) {
  EXPECT_EQ(whole_memory(files()), std::nullopt);
  write("meminfo", "MemTotal:       4000 kB\nMemAvailable:    2000 kB\n");
  EXPECT_EQ(whole_memory(files()), 4000U * 1024);
  write("own", "0::/slurm/job_7\n");
  write("slurm/job_7/memory.max", "1000000\n");
  write("slurm/job_7/memory.current", "300000\n");
  EXPECT_EQ(whole_memory(files()), 1'000'000U);
  EXPECT_EQ(read(), 700'000U) << "the control";
}

TEST_F(AvailableMemory, IsOutOfAWholeThatOneGroupBounds) {
  const auto bounding = [this] { return bounding_group(files()); };
  const auto named = [this](const std::string& group) { return (folder.path() / group).string(); };
  EXPECT_EQ(bounding(), std::nullopt);
  write("meminfo", "MemTotal:       4000 kB\n");
  write("own", "0::/slurm/job_7/step_0\n");
  write("memory.max", "max\n");
  EXPECT_EQ(bounding(), std::nullopt);
  write("slurm/job_7/memory.max", "90000000000\n");
  EXPECT_EQ(bounding(), std::nullopt) << "the machine has less";
  write("slurm/job_7/memory.max", "1000000\n");
  EXPECT_EQ(bounding(), named("slurm/job_7"));
  write("slurm/job_7/step_0/memory.max", "1000000\n");
  EXPECT_EQ(bounding(), named("slurm/job_7")) << "the outermost";
  write("slurm/job_7/step_0/memory.max", "999999\n");
  EXPECT_EQ(bounding(), named("slurm/job_7/step_0"));
  write("memory.max", "500000\n");
  EXPECT_EQ(bounding(), folder.path().string()) << "a container's own";
  std::filesystem::remove(folder.path() / "meminfo");
  EXPECT_EQ(bounding(), folder.path().string()) << "what the machine has is not known";
}

TEST_F(AvailableMemory, OfVersion1IsInTheHierarchyOfMemory) {
  write("meminfo", "MemAvailable:    2000 kB\n");
  write("own", "9:cpu,cpuacct:/job\n4:memory:/job/step\n0::/init.scope\n");
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("memory/job/memory.limit_in_bytes", "800000\n");
  write("memory/job/memory.usage_in_bytes", "500000\n");
  EXPECT_EQ(read(), 300'000U);
  write("memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 100000\n");
  EXPECT_EQ(read(), 400'000U);
  write("memory/job/step/memory.limit_in_bytes", "1000\n");
  EXPECT_EQ(read(), 1000U);
}

TEST(AvailableMemoryHere, IsSaid) { EXPECT_GT(available_memory().value_or(0), 0U); }

TEST(ProcessMemory, GrowsWithWhatIsWrittenAndKeepsItsPeak) {
  const auto before = process_memory();
  ASSERT_TRUE(before);
  constexpr std::size_t kBytes = std::size_t{64} << 20U;
  {
    const std::vector<char> written(kBytes, 'x');
    const auto during = process_memory();
    ASSERT_TRUE(during);
    EXPECT_GT(during->resident, before->resident + kBytes / 2) << written[kBytes / 2];
    EXPECT_LT(during->resident, before->resident + 2 * kBytes);
  }
  const auto after = process_memory();
  ASSERT_TRUE(after);
  EXPECT_LT(after->resident, before->resident + kBytes / 2);
  EXPECT_GT(after->peak, before->resident + kBytes / 2);
}

TEST_F(AvailableMemory, OfAProcessIsReadByName) {
  EXPECT_FALSE(process_memory((folder.path() / "nothing").string()));
  write("status", "Name:\tshoal\nVmHWM:\t     300 kB\nVmRSS:\t     200 kB\n");
  const auto memory = process_memory((folder.path() / "status").string());
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->resident, 200U * 1024);
  EXPECT_EQ(memory->peak, 300U * 1024);
  write("status", "Name:\tshoal\nVmHWM:\t     300 kB\n");
  EXPECT_FALSE(process_memory((folder.path() / "status").string()));
}

}  // namespace
}  // namespace shoal::available_memory_test
