// Which processes share a machine's memory, by what they read of their kernel and of their control groups.
#include "runtime/base/machine/machine_identity.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/base/machine/scratch_folder.h"

namespace shoal::machine_identity_test {
namespace {

constexpr const char* kBoot = "2e52f090-5da8-4e39-afee-2b99e982f9f3";
constexpr const char* kOtherBoot = "2e52f090-5da8-4e39-afee-2b99e982f9f4";

TEST(MachineIdentity, IsOneForOneKernelAndOneBound) {
  const std::uint64_t whole = machine_identity_of(kBoot, std::nullopt);
  EXPECT_EQ(machine_identity_of(kBoot, std::nullopt), whole);
  EXPECT_EQ(machine_identity_of("2E52F0905DA84E39AFEE2B99E982F9F3\n", std::nullopt), whole) << "as it is written";
  const std::set<std::uint64_t> all = {0,
                                       whole,
                                       machine_identity_of(kOtherBoot, std::nullopt),
                                       machine_identity_of(kBoot, 0),
                                       machine_identity_of(kBoot, 1),
                                       machine_identity_of(kBoot, 11),
                                       machine_identity_of(kOtherBoot, 1)};
  EXPECT_EQ(all.size(), 7U) << "each another machine";
}

TEST(MachineIdentity, IsUnknownWithoutABootNumber) {
  for (const char* text : {"", "\n", "2e52f090", "unknown", "00000000-0000-0000-0000-000000000000",
                           "2e52f090-5da8-4e39-afee-2b99e982f9f3f", "2e52f090-5da8-4e39-afee-2b99e982f9fx"}) {
    EXPECT_EQ(machine_identity_of(text, std::nullopt), 0U) << text;
    EXPECT_EQ(machine_identity_of(text, 7), 0U) << text;
  }
  EXPECT_NE(machine_identity_of(kBoot, 7), 0U) << "control";
}

// A kernel's files, as processes in several groups and containers see them: a container reads its own group at the
// root.
class MachineIdentityHere : public ::testing::Test {
 protected:
  MachineIdentityHere() {
    write("boot_id", std::string(kBoot) + "\n");
    write("meminfo", "MemTotal:       4000 kB\nMemAvailable:    2000 kB\n");
  }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name) << text;
  }
  void limit(const std::string& group, const std::string& bytes) { write("groups/" + group + "/memory.max", bytes); }
  // own: as /proc/self/cgroup has it.
  [[nodiscard]] std::uint64_t in(const std::string& own, const std::string& root = "groups") {
    write("own", own + "\n");
    const auto at = [this](const std::string& name) { return (folder.path() / name).string(); };
    return machine_identity({at("boot_id"), {at("meminfo"), at(root), at("own")}});
  }
  // The root of a container whose group this is.
  [[nodiscard]] std::string container(const std::string& group) {
    const std::string name = "container" + std::to_string(++containers);
    std::filesystem::create_directory_symlink(folder.path() / "groups" / group, folder.path() / name);
    return name;
  }

  int containers = 0;
  ScratchFolder folder = std::move(*ScratchFolder::make(std::filesystem::temp_directory_path(), "identity-"));
};

TEST_F(MachineIdentityHere, IsTheKernelsWhereNoGroupBoundsIt) {
  limit("a", "max");
  limit("b", "90000000000");
  const std::uint64_t whole = in("0::/");
  EXPECT_EQ(whole, machine_identity_of(kBoot, std::nullopt));
  EXPECT_EQ(in("0::/a"), whole) << "no limit";
  EXPECT_EQ(in("0::/b"), whole) << "the machine has less";
  EXPECT_EQ(in("0::/", container("a")), whole) << "containers without a limit share the machine's memory";
  limit("b", "1000000");
  EXPECT_NE(in("0::/b"), whole) << "control";
  write("boot_id", std::string(kOtherBoot));
  EXPECT_NE(in("0::/a"), whole) << "another kernel";
  write("boot_id", "");
  EXPECT_EQ(in("0::/a"), 0U);
  EXPECT_EQ(in("0::/b"), 0U);
}

TEST_F(MachineIdentityHere, IsThatOfTheGroupWhoseLimitBoundsIt) {
  limit("job_7", "1000000");
  limit("job_7/step_0", "max");
  limit("job_7/step_1", "1000000");
  limit("job_7/step_2", "500000");
  limit("job_8", "1000000");
  const std::uint64_t job = in("0::/job_7");
  EXPECT_EQ(in("0::/job_7/step_0"), job) << "the limit around it";
  EXPECT_EQ(in("0::/job_7/step_1"), job) << "as large as that around it, which bounds both steps together";
  EXPECT_NE(in("0::/job_7/step_2"), job) << "a lower one of its own";
  EXPECT_NE(in("0::/job_8"), job) << "a limit as large, and another one's";
  EXPECT_NE(in("0::/"), job);
}

TEST_F(MachineIdentityHere, TellsContainersApartThatReadTheSamePath) {
  limit("pod_1", "1000000");
  limit("pod_2", "1000000");
  const std::string one = container("pod_1");
  const std::string two = container("pod_2");
  EXPECT_NE(in("0::/", one), in("0::/", two));
  EXPECT_EQ(in("0::/", one), in("0::/pod_1")) << "as it is seen from outside";
  EXPECT_EQ(in("0::/", one), in("0::/", container("pod_1"))) << "another process in it";
  EXPECT_EQ(in("0::/of/the/host", one), in("0::/", one)) << "a path that is not there";
}

// A container may read its limit as the machine's memory, too (lxcfs).
TEST_F(MachineIdentityHere, IsThatOfTheGroupWhereTheMachineSaysItsLimit) {
  write("groups/c1/memory.max", std::to_string(4000 * 1024));
  write("groups/c2/memory.max", std::to_string(4000 * 1024));
  EXPECT_NE(in("0::/", container("c1")), in("0::/", container("c2")));
  EXPECT_NE(in("0::/c1"), in("0::/"));
}

TEST_F(MachineIdentityHere, OfVersion1IsThatInTheHierarchyOfMemory) {
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("groups/memory/job/memory.limit_in_bytes", "800000\n");
  write("groups/memory/other/memory.limit_in_bytes", "800000\n");
  const std::uint64_t job = in("4:memory:/job/step");
  EXPECT_EQ(in("4:memory:/job"), job);
  EXPECT_NE(in("4:memory:/other"), job);
  EXPECT_EQ(in("4:cpu:/job"), machine_identity_of(kBoot, std::nullopt)) << "no group of memory";
  EXPECT_EQ(in("4:memory:/\n0::/job"), machine_identity_of(kBoot, std::nullopt));
}

TEST(MachineIdentityOfThisOne, IsTheSameWheneverItIsAsked) {
  EXPECT_EQ(machine_identity(), machine_identity());
  EXPECT_NE(machine_identity(), machine_identity({"/nothing", {}})) << "a kernel says which one it is";
}

}  // namespace
}  // namespace shoal::machine_identity_test
