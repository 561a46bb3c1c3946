// Tests the note of who made a process crash, and what follows for the certificate.
#include "runtime/transport/guard/peer_crashes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>

#include "runtime/base/file.h"
#include "runtime/transport/guard/peer_note.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::peer_crashes_test {
namespace {

using test_support::TemporaryFolder;

const auto kGuest = std::make_shared<const std::string>("node/guest#3F09");

TEST(PeerCrashes, WhoCrashesUsTwiceIsRefused) {
  PeerCrashes crashes;
  const auto first = crashes.crashed_by(*kGuest);
  EXPECT_EQ(first.crashes, 1);
  EXPECT_TRUE(first.is_excused);
  EXPECT_FALSE(first.is_refused);
  EXPECT_TRUE(crashes.refused().empty());
  const auto second = crashes.crashed_by(*kGuest);
  EXPECT_TRUE(second.is_excused);
  EXPECT_TRUE(second.is_refused);
  EXPECT_EQ(crashes.refused(), std::set<std::string>{"node/guest"});
  EXPECT_FALSE(crashes.crashed_by(*kGuest).is_excused) << "it is not let in any more: it was not the peer";
}

// The certificate's holder gets another one by a renewal, or by the token that it came with.
TEST(PeerCrashes, AnotherCertificateOfTheNameDoesNotHelp) {
  PeerCrashes crashes;
  EXPECT_FALSE(crashes.crashed_by("node/a#1").is_refused);
  EXPECT_TRUE(crashes.crashed_by("node/a#2").is_refused);
  EXPECT_EQ(crashes.refused(), std::set<std::string>{"node/a"});
  EXPECT_FALSE(crashes.crashed_by("node/a#3").is_excused);
}

TEST(PeerCrashes, KeepsPeersApart) {
  PeerCrashes crashes;
  for (const char* one : {"node/a#1", "node/ab#1", "node/b#1", "storage/a#1"}) {
    EXPECT_FALSE(crashes.crashed_by(one).is_refused) << one;
  }
  EXPECT_TRUE(crashes.crashed_by("storage/a#1").is_refused);
  EXPECT_EQ(crashes.refused(), std::set<std::string>{"storage/a"});
}

// A run that the version before this one began counted by certificate.
TEST(PeerCrashes, ReadsTheCountsOfAnOlderVersion) {
  EXPECT_EQ(PeerCrashes("2 node/a#1\n1 node/b#1\n").refused(), std::set<std::string>{"node/a"});
  EXPECT_EQ(PeerCrashes("1 node/a#1\n1 node/a#2\n").refused(), std::set<std::string>{"node/a"});
}

TEST(PeerCrashes, OutlivesTheKeeperAsAText) {
  PeerCrashes crashes;
  (void)crashes.crashed_by(*kGuest);
  (void)crashes.crashed_by("node/other#1");
  EXPECT_EQ(crashes.text(), "1 node/guest\n1 node/other\n");
  PeerCrashes next(crashes.text());
  EXPECT_TRUE(next.crashed_by(*kGuest).is_refused);
  EXPECT_EQ(PeerCrashes(next.text()).refused(), next.refused());
}

TEST(PeerCrashes, ADamagedTextBlamesNobody) {
  for (const char* text : {"", "\n\n", "2", "2 ", "x node/a\n", "-2 node/a\n", "99999999999 node/a\n"}) {
    EXPECT_TRUE(PeerCrashes(text).refused().empty()) << text;
  }
  EXPECT_FALSE(PeerCrashes("2 node/a").refused().empty()) << "the control";
}

TEST(PeerCrashes, S6WhatIsRememberedAndExcusedIsBounded) {
  PeerCrashes crashes;
  std::size_t excused = 0;
  for (int round = 0; round < 5; ++round) {
    for (int peer = 0; peer < 1000; ++peer) {
      if (crashes.crashed_by("node/n" + std::to_string(peer) + "#1").is_excused) ++excused;
    }
  }
  EXPECT_EQ(excused, PeerCrashes::kPeersMax * PeerCrashes::kCrashesMax);
  EXPECT_EQ(PeerCrashes(crashes.text()).refused().size(), PeerCrashes::kPeersMax);
}

TEST(PeerCrashes, ARefusalNamesWhoWhyAndTheWayBack) {
  const std::string text = refusal_text("node1", "node/guest", "kept/note-0.peer.crashes");
  EXPECT_EQ(
      text,
      "node1 refuses guest: node1 crashed 2 times while it read what guest had sent, and refuses every certificate "
      "of that name; to let it in again, start it under another --name, or remove kept/note-0.peer.crashes and "
      "start node1 again");
  for (const char* odd : {"", "/", "guest"}) EXPECT_FALSE(refusal_text("x", odd, "f").empty()) << odd;
}

// Returns what a process that lived so has left when it has ended.
std::optional<std::string> left_by(const std::function<void()>& life) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/note";
  const pid_t child = ::fork();
  if (child == 0) {
    keep_peer_note(path);
    life();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  auto note = take_peer_note(path);
  EXPECT_FALSE(take_peer_note(path)) << "once";
  return note;
}

void fault() {
  volatile int* volatile nowhere = reinterpret_cast<volatile int*>(std::uintptr_t{64});
  *nowhere = 1;
}

TEST(PeerNote, ACrashWhileReadingNamesThePeer) {
  EXPECT_EQ(left_by([] {
              const PeerReading reading(kGuest);
              fault();
            }),
            *kGuest);
  EXPECT_EQ(left_by([] {
              const PeerReading reading(kGuest);
              std::abort();
            }),
            *kGuest);
  EXPECT_EQ(left_by([] {
              const PeerReading outer(kGuest);
              const PeerReading inner(std::make_shared<const std::string>("node/inner#1"));
              fault();
            }),
            "node/inner#1");
}

TEST(PeerNote, TheProcessStillEndsByItsSignal) {
  const TemporaryFolder folder;
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE}) {
    const pid_t child = ::fork();
    if (child == 0) {
      keep_peer_note(folder.path() + "/note");
      ::raise(signal);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const bool is_told_by_a_sanitizer = WIFEXITED(status) && WEXITSTATUS(status) != 0;
    EXPECT_TRUE((WIFSIGNALED(status) && WTERMSIG(status) == signal) || is_told_by_a_sanitizer) << signal;
  }
}

TEST(PeerNote, AnExceptionThatLeavesTheReadingNamesThePeer) {
  const auto throw_while_reading = [] {
    try {
      const PeerReading reading(kGuest);
      throw std::runtime_error("a bug");
    } catch (const std::exception&) {
    }
  };
  EXPECT_EQ(left_by(throw_while_reading), *kGuest);
  EXPECT_FALSE(left_by([&] {
    throw_while_reading();
    const PeerReading next(std::make_shared<const std::string>("node/next#1"));
  })) << "the process went on";
}

TEST(PeerNote, NobodyElseIsBlamed) {
  EXPECT_FALSE(left_by([] {
    { const PeerReading reading(kGuest); }
    fault();
  })) << "it had been read";
  EXPECT_FALSE(left_by([] {
    const PeerReading reading(kGuest);
    std::thread(fault).join();
  })) << "another thread";
  EXPECT_FALSE(left_by([] {
    const PeerReading reading(kGuest);
    ::kill(::getpid(), SIGKILL);
  })) << "from outside";
  EXPECT_FALSE(left_by([] {
    const PeerReading reading(nullptr);
    fault();
  })) << "without a certificate";
}

TEST(PeerNote, AnotherFileIsNotBelieved) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/note";
  EXPECT_FALSE(take_peer_note(path));
  ASSERT_TRUE(replace_file(path, "SHPNnode/guest#1", FileAccess::kOwnerOnly).ok());
  EXPECT_FALSE(take_peer_note(path)) << "too short";
  ASSERT_TRUE(replace_file(path, std::string(kPeerNoteBytes, 'x'), FileAccess::kOwnerOnly).ok());
  EXPECT_FALSE(take_peer_note(path)) << "another file";
}

}  // namespace
}  // namespace shoal::peer_crashes_test
