// Compares what is declared by hand with NVIDIA's header, where that is installed.
#include <gtest/gtest.h>

#include "runtime/device/nccl/nccl_library.h"

#ifdef SHOAL_HAS_NCCL_HEADER
#include <nccl.h>
#endif

namespace shoal::nccl_header_test {
namespace {

#ifdef SHOAL_HAS_NCCL_HEADER

TEST(NcclHeader, HasTheLayoutAndTheValuesThatAreDeclaredByHand) {
  EXPECT_EQ(sizeof(NcclId), sizeof(ncclUniqueId));
  EXPECT_LE(sizeof(NcclConfig), sizeof(ncclConfig_t));
  EXPECT_EQ(offsetof(NcclConfig, magic), offsetof(ncclConfig_t, magic));
  EXPECT_EQ(offsetof(NcclConfig, version), offsetof(ncclConfig_t, version));
  EXPECT_EQ(offsetof(NcclConfig, blocking), offsetof(ncclConfig_t, blocking));
  EXPECT_EQ(offsetof(NcclConfig, cga_cluster_size), offsetof(ncclConfig_t, cgaClusterSize));
  EXPECT_EQ(offsetof(NcclConfig, ctas_max), offsetof(ncclConfig_t, maxCTAs));
  EXPECT_EQ(offsetof(NcclConfig, network_name), offsetof(ncclConfig_t, netName));
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(NcclConfig{}.magic, theirs.magic);
  EXPECT_EQ(NcclConfig{}.ctas_min, theirs.minCTAs);
  EXPECT_NE(NcclConfig{}.blocking, theirs.blocking);  // the control: theirs leaves it to the library
  EXPECT_EQ(kNcclSuccess, ncclSuccess);
  EXPECT_EQ(kNcclRemoteError, ncclRemoteError);
  EXPECT_EQ(kNcclInProgress, ncclInProgress);
  EXPECT_EQ(kNcclInt64, ncclInt64);
  EXPECT_EQ(kNcclFloat32, ncclFloat32);
  EXPECT_EQ(kNcclSum, ncclSum);
}

// Each parameter of theirs is a number or a pointer of the same kind as ours.
template <class Ours, class Theirs>
constexpr bool kAreAlike = sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
template <class Ours, class Theirs>
struct Alike;
template <class... Ours, class... Theirs, class OurResult, class TheirResult>
struct Alike<OurResult (*)(Ours...), TheirResult (*)(Theirs...)> {
  static constexpr bool value = kAreAlike<OurResult, TheirResult> && (kAreAlike<Ours, Theirs> && ...);
};

TEST(NcclHeader, HasTheFunctionsThatAreDeclaredByHand) {
  using Ours = NcclFunctions;
  EXPECT_TRUE((Alike<decltype(Ours::get_version), decltype(&ncclGetVersion)>::value));
  EXPECT_TRUE((Alike<decltype(Ours::get_unique_id), decltype(&ncclGetUniqueId)>::value));
  EXPECT_TRUE((Alike<decltype(Ours::comm_init_rank_config), decltype(&ncclCommInitRankConfig)>::value));
  EXPECT_TRUE((Alike<decltype(Ours::all_reduce), decltype(&ncclAllReduce)>::value));
  EXPECT_TRUE((Alike<decltype(Ours::comm_get_async_error), decltype(&ncclCommGetAsyncError)>::value));
  EXPECT_TRUE((Alike<decltype(Ours::comm_abort), decltype(&ncclCommAbort)>::value));
  EXPECT_TRUE((Alike<decltype(Ours::get_error_string), decltype(&ncclGetErrorString)>::value));
  EXPECT_TRUE((Alike<decltype(Ours::get_last_error), decltype(&ncclGetLastError)>::value));
  using Wrong = int (*)(int, void*, NcclId, int, NcclConfig*);
  EXPECT_FALSE((Alike<Wrong, decltype(&ncclCommInitRankConfig)>::value)) << "control";
}

#else

TEST(NcclHeader, IsCompared) { GTEST_SKIP() << "this machine has no nccl.h"; }

#endif

}  // namespace
}  // namespace shoal::nccl_header_test
