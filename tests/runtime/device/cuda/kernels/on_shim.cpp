// Memory and faults on the CPU.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/support/cuda_shim/shim.h"

namespace shoal::gpu {
namespace {

constexpr shim::Order kOrders[] = {shim::Order::kUpwards, shim::Order::kDownwards, shim::Order::kShuffled};

void expect_holds(const std::function<bool()>& holds) {
  for (const shim::Order order : kOrders) {
    shim::begin({order, 7, {}});
    EXPECT_TRUE(holds()) << "order " << static_cast<int>(order);
    for (const std::string& finding : shim::findings()) ADD_FAILURE() << finding;
  }
}

bool is_found(const shim::Fault& fault, const std::function<bool()>& holds) {
  return std::ranges::any_of(kOrders, [&](shim::Order order) {
    shim::begin({order, 7, fault});
    return !holds() || !shim::findings().empty();
  });
}

}  // namespace

void* allocate_on_device(std::size_t byte_count) { return shim::allocate(byte_count); }
void free_on_device(void* memory) { shim::free_allocated(memory); }
void copy_to_device(void* to, const void* from, std::size_t byte_count) {
  if (byte_count > 0) std::memcpy(to, from, byte_count);
}
void copy_from_device(void* to, const void* from, std::size_t byte_count) { copy_to_device(to, from, byte_count); }

void expect_holds_and_faults_are_found(const std::function<bool()>& holds) {
  expect_holds(holds);
  // A missing barrier can leave the right result, by what an earlier run left in shared memory: only accesses tell.
  const unsigned barriers = shim::checks_accesses() ? shim::barrier_count() : 0;
  for (unsigned i = 0; i < barriers; ++i) {
    EXPECT_TRUE(is_found({shim::FaultKind::kNoBarrier, i}, holds)) << "nothing is found without barrier " << i;
  }
  EXPECT_TRUE(is_found({shim::FaultKind::kShiftedThread, 0}, holds)) << "nothing is found with a wrong index";
  EXPECT_TRUE(is_found({shim::FaultKind::kLostBlock, 0}, holds)) << "nothing is found without the last block";
  shim::begin({});
}

void for_each_shared_memory(const std::function<void()>& run) {
  for (const int kib : {228, 164, 100}) {
    SCOPED_TRACE(kib);
    shim::set_shared_kib(kib);
    shim::begin({});
    run();
    for (const std::string& finding : shim::findings()) ADD_FAILURE() << finding;
  }
  shim::set_shared_kib(shim::kSharedKib);
}

}  // namespace shoal::gpu
