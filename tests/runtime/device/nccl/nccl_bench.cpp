// The path at which the build leaves the tests' NCCL.
#include "tests/runtime/device/nccl/nccl_bench.h"

namespace shoal {

const std::string kTestsNccl = std::string(SHOAL_BUILD_DIR) + "/tests-nccl/libnccl.so.2";

}  // namespace shoal
