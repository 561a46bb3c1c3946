// A folder of checkpoints that several runs may name belongs to one of them.
#include "runtime/storage/checkpoint_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/storage/checkpoint_reader.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/storage/shards.h"

namespace shoal::checkpoint_claim_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const Status& status) {
  EXPECT_FALSE(status.ok());
  if (status.ok()) return "";
  EXPECT_EQ(status.failure().error, Error::kUsage);
  return status.failure().message;
}

TEST(CheckpointClaim, IsOfWhoeverComesFirst) {
  const Scratch scratch;
  const CheckpointOwner one{"0a", "/runs/one"}, other{"0b", "/runs/other"};
  EXPECT_TRUE(check_checkpoints(scratch.path(), one).ok());
  EXPECT_TRUE(claim_checkpoints(scratch.path(), one).ok());
  EXPECT_TRUE(claim_checkpoints(scratch.path(), one).ok()) << "as a resumed run does";
  EXPECT_TRUE(check_checkpoints(scratch.path(), one).ok());
  EXPECT_THAT(refusal(claim_checkpoints(scratch.path(), other)), AllOf(HasSubstr("0a"), HasSubstr("/runs/one")));
  EXPECT_THAT(refusal(check_checkpoints(scratch.path(), {})), HasSubstr("/runs/one"));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1) << "and leaves one file";
}

TEST(CheckpointClaim, IsNotNeededWhereCheckpointsSayWhose) {
  const Scratch scratch;
  const CheckpointWriterSettings settings = settings_in(scratch.path());
  CheckpointWriter writer(settings);
  ASSERT_TRUE(save(writer, 10).ok());
  EXPECT_THAT(refusal(claim_checkpoints(scratch.path(), {"0b", "/runs/other"})),
              AllOf(HasSubstr(settings.run), HasSubstr("step_10")));
  EXPECT_THAT(refusal(check_checkpoints(scratch.path(), {})), HasSubstr("step_10")) << "a run that is to be begun";
  EXPECT_TRUE(claim_checkpoints(scratch.path(), {settings.run, "/runs/one"}).ok());
}

// What the system refuses to read may be another run's.
TEST(CheckpointClaim, ThatCannotBeReadIsNotTakenForNone) {
  const Scratch scratch;
  const CheckpointOwner one{"0a", "/runs/one"};
  std::filesystem::create_symlink(scratch.path() / ".run", scratch.path() / ".run");  // a loop
  for (const Status& status : {check_checkpoints(scratch.path(), one), claim_checkpoints(scratch.path(), one)}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.failure().error, Error::kIo);
    EXPECT_THAT(status.failure().message, HasSubstr(".run"));
  }
  fs::remove(scratch.path() / ".run");
  (void)scratch.file(".run", "half a wri");
  EXPECT_THAT(refusal(claim_checkpoints(scratch.path(), one)), HasSubstr("does not say whose"));
}

TEST(CheckpointClaim, OfAFolderThatIsNotThereIsFree) {
  EXPECT_TRUE(check_checkpoints("/nowhere/at/all", {}).ok());
  EXPECT_FALSE(claim_checkpoints("/nowhere/at/all", {"0a", "/runs/one"}).ok());
}

}  // namespace
}  // namespace shoal::checkpoint_claim_test
