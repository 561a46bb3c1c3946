// Which digests of states may be compared.
#include "runtime/trace/state_layout.h"

#include <gtest/gtest.h>

namespace shoal::state_layout_test {
namespace {

TEST(StateLayout, IsThatOfItsTensorsInTheirOrder) {
  EXPECT_EQ(state_layout({"a", "b"}), state_layout({"a", "b"}));
  EXPECT_NE(state_layout({"a", "b"}), state_layout({"b", "a"}));
  EXPECT_NE(state_layout({"a", "b"}), state_layout({"a"}));
  EXPECT_NE(state_layout({"a", "b"}), state_layout({"ab"}));
  EXPECT_NE(state_layout({"a"}), 0U) << "what programs before recorded";
}

}  // namespace
}  // namespace shoal::state_layout_test
