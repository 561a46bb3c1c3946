// A note holds exactly what was begun and not ended, in this life or, in a file, in the last one.
#include "runtime/trace/work_note.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "runtime/base/file.h"

namespace shoal::work_note_test {
namespace {

NotedWork work_of(std::uint64_t replica, std::uint32_t microbatch = 3) {
  return {RunId{9}, StageId{1}, Incarnation{replica}, StepId{7}, MicrobatchId{microbatch}};
}

std::string fresh_path() {
  const std::string path = testing::TempDir() + "work_note." + std::to_string(::getpid());
  std::filesystem::remove(path);
  return path;
}

TEST(WorkNote, GivesWhatAReplicaWasAtOnce) {
  WorkNote note;
  note.begin(work_of(11));
  EXPECT_FALSE(note.take(Incarnation{12}));
  EXPECT_EQ(note.take(Incarnation{11}), work_of(11));
  EXPECT_FALSE(note.take(Incarnation{11}));
}

TEST(WorkNote, ForgetsWhatWasEnded) {
  WorkNote note;
  note.begin(work_of(11));
  note.end(Incarnation{11});
  EXPECT_FALSE(note.take(Incarnation{11}));
}

TEST(WorkNote, KeepsReplicasApart) {
  WorkNote note;
  note.begin(work_of(11, 1));
  note.begin(work_of(12, 2));
  note.end(Incarnation{11});
  EXPECT_EQ(note.take(Incarnation{12}), work_of(12, 2));
  note.begin(work_of(11, 1));
  note.begin(work_of(11 + WorkNote::kSlots, 4));  // the same slot: the older one is forgotten
  EXPECT_FALSE(note.take(Incarnation{11}));
}

// The child dies of its work, as a worker does.
TEST(WorkNote, ACrashedProcessLeavesItToItsNextLife) {
  const std::string path = fresh_path();
  const pid_t child = ::fork();
  if (child == 0) {
    WorkNote note(path);
    note.begin(work_of(10));
    note.end(Incarnation{10});
    note.begin(work_of(11));
    ::raise(SIGKILL);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  {
    const WorkNote next(path);
    EXPECT_EQ(next.left_behind(), std::vector<NotedWork>{work_of(11)});
  }
  EXPECT_TRUE(WorkNote(path).left_behind().empty()) << "once";
  std::filesystem::remove(path);
}

TEST(WorkNote, ClosedItLeavesNothing) {
  const std::string path = fresh_path();
  {
    WorkNote note(path);
    note.begin(work_of(11));
    note.close();
    note.begin(work_of(12));
  }
  EXPECT_TRUE(WorkNote(path).left_behind().empty());
  std::filesystem::remove(path);
}

TEST(WorkNote, AnotherFileIsNotBelieved) {
  const std::string path = fresh_path();
  { WorkNote(path).begin(work_of(11)); }
  const auto whole = read_file(path);
  ASSERT_TRUE(whole.ok());
  for (std::string damaged : {std::string("short"), whole->substr(0, whole->size() - 1), "X" + whole->substr(1)}) {
    ASSERT_TRUE(replace_file(path, damaged).ok());
    EXPECT_TRUE(WorkNote(path).left_behind().empty());
  }
  ASSERT_TRUE(replace_file(path, *whole).ok());
  EXPECT_EQ(WorkNote(path).left_behind().size(), 1U) << "the control";
  std::filesystem::remove(path);
}

TEST(WorkNote, WithoutAFileItServesFromMemory) {
  WorkNote note("/nowhere/at/all");
  note.begin(work_of(11));
  EXPECT_EQ(note.take(Incarnation{11}), work_of(11));
}

}  // namespace
}  // namespace shoal::work_note_test
