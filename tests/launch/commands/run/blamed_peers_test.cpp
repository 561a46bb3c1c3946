// A ward that crashes by what a peer sends: the keeper names the certificate, spares the budget, and leaves to the next
// life whom to refuse. The ward is a script that leaves such a note as a process does.
#include "launch/commands/run/blamed_peers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/base/file.h"
#include "runtime/transport/guard/peer_crashes.h"
#include "runtime/transport/guard/peer_note.h"

namespace shoal::blamed_peers_test {
namespace {

class BlamedPeersTest : public ::testing::Test {
 protected:
  BlamedPeersTest() : folder_(::testing::TempDir() + "blamed_peers." + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~BlamedPeersTest() override { std::filesystem::remove_all(folder_); }

  // Lives and ends `lives` times by `end`, with a note about the peer, and then as one that is done.
  Ward ward(int lives, const std::string& end) {
    Ward made;
    made.name = "worker";
    made.role = WardRole::kLeader;
    const std::string note = "{ printf SHPNnode/guest#3F; head -c 500 /dev/zero; } | head -c 256 > note";
    made.program = {{"/bin/sh", "-c",
                     "cd " + folder_ + "; echo x >> lives; test $(wc -l < lives) -gt " + std::to_string(lives) +
                         " && exit 0; " + note + "; " + end},
                    folder_ + "/log"};
    made.limits.budget = 1;
    made.limits.first_delay = made.limits.longest_delay = std::chrono::milliseconds(1);
    made.excuse = blame_peers(made.name, folder_ + "/note");
    return made;
  }
  int run(Ward one) {
    Keeper keeper({});
    EXPECT_TRUE(keeper.add(std::move(one)).ok());
    return *keeper.run();
  }
  [[nodiscard]] std::set<std::string> refused() const {
    const auto text = read_file(peer_crashes_file(folder_ + "/note"));
    return text ? PeerCrashes(*text).refused() : std::set<std::string>();
  }

  std::string folder_;
};

TEST_F(BlamedPeersTest, TwoCrashesCostNothingAndTheirCertificateIsRefused) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(ward(2, "kill -SEGV $$")), 0);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("while it read what node/guest#3F had sent\n"), std::string::npos) << said;
  EXPECT_NE(said.find("had sent, again: every certificate of that name is refused from now on"), std::string::npos)
      << said;
  EXPECT_NE(said.find("worker refuses guest: worker crashed 2 times"), std::string::npos) << said;
  EXPECT_NE(said.find("remove " + peer_crashes_file(folder_ + "/note")), std::string::npos) << said;
  EXPECT_EQ(refused(), std::set<std::string>{"node/guest"});
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/note"));
}

TEST_F(BlamedPeersTest, OneCrashIsForgiven) {
  EXPECT_EQ(run(ward(1, "kill -ABRT $$")), 0);
  EXPECT_TRUE(refused().empty());
}

// A crash that the refused peer cannot have caused any more counts as any other crash, and the budget is one.
TEST_F(BlamedPeersTest, FurtherCrashesCountAgain) {
  EXPECT_EQ(run(ward(3, "kill -SEGV $$")), 0);
  std::filesystem::remove(folder_ + "/lives");
  EXPECT_EQ(run(ward(2, "kill -SEGV $$")), 1);
}

TEST_F(BlamedPeersTest, AnExceptionThatEndsTheProcessIsBlamedToo) {
  EXPECT_EQ(run(ward(2, "exit 1")), 0);
  EXPECT_EQ(refused().size(), 1U);
}

TEST_F(BlamedPeersTest, OtherEndsBlameNobody) {
  EXPECT_EQ(run(ward(2, "kill -KILL $$")), 1) << "the control: it costs the budget";
  EXPECT_TRUE(refused().empty());
}

}  // namespace
}  // namespace shoal::blamed_peers_test
