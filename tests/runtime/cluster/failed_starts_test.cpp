// When it is of no use to try another worker.
#include "runtime/cluster/failed_starts.h"

#include <gtest/gtest.h>

namespace shoal::failed_starts_test {
namespace {

TEST(FailedStarts, OfThreeNodesAreHopelessWhoeverIsLeft) {
  FailedStarts failed;
  failed.add("a", "a");
  failed.add("b", "b");
  EXPECT_FALSE(failed.are_hopeless(100));
  failed.add("c", "c");
  EXPECT_TRUE(failed.are_hopeless(100));
}

TEST(FailedStarts, OfOneNodeSayNothingOfTheOthers) {
  FailedStarts failed;
  for (int round = 0; round < 10; ++round) {
    for (const char* device : {"a:0", "a:1", "a:2", "a:3"}) failed.add(device, "a");
  }
  EXPECT_TRUE(failed.contains("a:3"));
  EXPECT_FALSE(failed.contains("b"));
  EXPECT_FALSE(failed.are_hopeless(1));
  EXPECT_TRUE(failed.are_hopeless(0)) << "but there are none";
}

TEST(FailedStarts, OfAllThereAreMayHaveBeenPassing) {
  FailedStarts failed;
  failed.add("a", "a");
  failed.add("b", "b");
  EXPECT_FALSE(failed.are_hopeless(0));
  failed.add("a", "a");
  EXPECT_TRUE(failed.are_hopeless(0));
}

}  // namespace
}  // namespace shoal::failed_starts_test
