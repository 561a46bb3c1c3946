// A short program that is run to its end: what it wrote, or how it ended.
#include "launch/child_process.h"

#include <gtest/gtest.h>

namespace shoal::child_process_test {
namespace {

Result<std::string> shell(const std::string& line) { return output_of({"/bin/sh", "-c", line}); }

TEST(ChildProcess, WhatItWroteIsReturned) {
  const auto text = shell("echo one; echo two >&2");
  ASSERT_TRUE(text.ok()) << text.failure().message;
  EXPECT_EQ(*text, "one\n");
}

TEST(ChildProcess, HowItEndedIsSaid) {
  const auto killed = shell("kill -BUS $$");
  ASSERT_FALSE(killed.ok());
  EXPECT_EQ(killed.failure().error, Error::kInternal);
  EXPECT_EQ(killed.failure().message, "/bin/sh was ended by signal 7 (Bus error)");
  EXPECT_EQ(shell("exit 3").failure().message, "/bin/sh cannot run here, or failed: it ended with status 3");
  EXPECT_EQ(output_of({"/nothing/here"}).failure().error, Error::kIo);
}

}  // namespace
}  // namespace shoal::child_process_test
