// Opening the library: what is refused, with which sentence; and NVIDIA's own where it is installed.
#include "runtime/device/nccl/nccl_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/device/nccl/nccl_bench.h"

namespace shoal::nccl_library_test {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& file) {
  const auto library = open_nccl(file);
  if (library) return "opened";
  EXPECT_EQ(exit_code(library.failure().error), 2);
  return library.failure().message;
}

TEST(NcclLibrary, OpensWhatThePathNames) {
  const PlantedFolder folder;
  const auto library = open_nccl(kTestsNccl);
  ASSERT_TRUE(library.ok()) << library.failure().message;
  EXPECT_EQ(nccl_version_text((*library)->version), "nccl 2.28.9");
  EXPECT_TRUE((*library)->sums_host_memory());
}

TEST(NcclLibrary, RefusesWhatIsMissingOrNoneOrOfAnotherTime) {
  const PlantedFolder folder;
  EXPECT_THAT(refusal("libnccl.so.absent"), HasSubstr("NCCL cannot be loaded: libnccl.so.absent"));
  EXPECT_THAT(refusal("libm.so.6"), HasSubstr("it has no ncclGetVersion"));
  planted::plant("version", 21602);
  EXPECT_THAT(refusal(kTestsNccl), HasSubstr("is nccl 2.16.2; NCCL 2.17 or a later 2 is needed"));
  planted::plant("version", 30000);
  EXPECT_THAT(refusal(kTestsNccl), HasSubstr("is nccl 3.0.0"));
  planted::remove("version");
  EXPECT_EQ(refusal(kTestsNccl), "opened") << "control";
}

// Without a GPU it opens, makes an id, and says why it does not join.
TEST(NcclLibrary, OfNvidiaIsSpokenToAsFarAsThisMachineGoes) {
  const auto opened = open_nccl("/usr/local/cuda/lib/libnccl.so.2");
  if (!opened) GTEST_SKIP() << opened.failure().message;
  const NcclLibrary& nccl = **opened;
  EXPECT_GE(nccl.version, 21700);
  EXPECT_FALSE(nccl.sums_host_memory());
  NcclId id{};
  ASSERT_EQ(nccl.call.get_unique_id(&id), kNcclSuccess);
  EXPECT_TRUE(std::ranges::any_of(id.bytes, [](char byte) { return byte != 0; }));
  void* comm = nullptr;
  NcclConfig config;
  int answer = nccl.call.comm_init_rank_config(&comm, 1, id, 0, &config);
  if (answer == kNcclInProgress) {
    ASSERT_TRUE(comes_true([&] { return nccl.call.comm_get_async_error(comm, &answer) != 0 || answer != 7; }));
  }
  if (answer == kNcclSuccess) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THAT(nccl_failure(nccl, "ncclCommInitRankConfig", answer, comm), HasSubstr("ncclCommInitRankConfig: "));
}

}  // namespace
}  // namespace shoal::nccl_library_test
