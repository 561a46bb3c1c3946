// Errors as those who run out of memory throw them, and others.
#include "runtime/base/machine/memory_lack.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace shoal::memory_lack_test {
namespace {

TEST(MemoryLack, IsToldByWhoAsksForMemoryOrThreads) {
  EXPECT_TRUE(is_lack_of_memory(std::bad_alloc()));
  EXPECT_TRUE(is_lack_of_memory(std::bad_array_new_length()));
  EXPECT_TRUE(is_lack_of_memory(std::system_error(EAGAIN, std::generic_category())));
  EXPECT_TRUE(is_lack_of_memory(std::system_error(ENOMEM, std::system_category())));
  EXPECT_TRUE(
      is_lack_of_memory(std::runtime_error("[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate "
                                           "memory: you tried to allocate 9 bytes.")));
}

TEST(MemoryLack, IsNotWhatOtherErrorsTell) {
  EXPECT_FALSE(is_lack_of_memory(std::runtime_error("mat1 and mat2 shapes cannot be multiplied")));
  EXPECT_FALSE(is_lack_of_memory(std::system_error(ENOSPC, std::generic_category())));
  EXPECT_FALSE(is_lack_of_memory(std::out_of_range("index")));
}

}  // namespace
}  // namespace shoal::memory_lack_test
