// A log and a trace on their way to another machine: everything arrives once, whatever is lost, repeated or restarted.
#include "runtime/storage/file_stream.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <random>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/storage/log_outbox.h"
#include "runtime/storage/remote_files.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::file_stream_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = Instant{} + 1h;

TensorBlob blob_of(const std::string& text) {
  auto bytes = std::make_shared<AlignedBuffer>(text.size());
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(bytes->data()));
  return {DType::kUint8, {static_cast<std::int64_t>(text.size())}, std::move(bytes)};
}

FileChunk chunk_of(const std::string& name, std::uint64_t offset, const std::string& text) {
  FileChunk chunk;
  chunk.name = name;
  chunk.offset = offset;
  if (!text.empty()) chunk.bytes = blob_of(text);
  return chunk;
}

TEST(FileStream, AsksFirstAndGoesOnAfterEachAnswer) {
  FileStream stream;
  EXPECT_FALSE(stream.next(0, kNow).has_value()) << "nothing to say";
  ASSERT_TRUE(stream.next(10, kNow)->is_question);
  EXPECT_FALSE(stream.next(10, kNow + 400ms).has_value());
  EXPECT_EQ(stream.arrived(100, 10, kNow + 400ms), 0U);
  const auto piece = stream.next(10, kNow + 1s);
  EXPECT_EQ(piece->there, 100U);
  EXPECT_EQ(piece->here, 0U);
  EXPECT_TRUE(stream.next(10, kNow + 2s)->is_question) << "no answer: what has arrived?";
  EXPECT_EQ(stream.arrived(100, 10, kNow + 2s), 0U);
  EXPECT_EQ(stream.next(10, kNow + 2s)->there, 100U) << "nothing: the same again";
  EXPECT_EQ(stream.arrived(110, 10, kNow + 2s), 10U);
  EXPECT_FALSE(stream.next(10, kNow + 20s).has_value());
  EXPECT_EQ(stream.arrived(100, 10, kNow + 20s), 10U) << "an answer that came late";
}

TEST(FileStream, IsAsPatientAsItsLineIsSlow) {
  FileStream stream;
  (void)stream.next(1000, kNow);
  (void)stream.arrived(0, 1000, kNow);
  (void)stream.next(1000, kNow);
  EXPECT_TRUE(stream.next(1000, kNow + 500ms)->is_question);
  (void)stream.arrived(10, 1000, kNow + 1s);  // the piece after all
  EXPECT_EQ(stream.next(1000, kNow + 1s)->there, 10U);
  EXPECT_FALSE(stream.next(1000, kNow + 4'900ms).has_value()) << "four times a second";
  EXPECT_TRUE(stream.next(1000, kNow + 5s)->is_question);
}

// Questions overtake the pieces, which wait for each other: each is known to be missing long before it is there.
TEST(FileStream, DoesNotFillASlowLineWithTheSameAgain) {
  constexpr std::uint64_t kPieces = 20;
  FileStream stream;
  std::uint64_t there = 0;
  std::deque<std::pair<Instant, std::uint64_t>> line;  // when a piece is there, and where it ends
  std::uint64_t sent = 0;
  for (Instant now = kNow; there < kPieces; now += 50ms) {
    ASSERT_LT(now, kNow + 2min);
    if (!line.empty() && line.front().first <= now) {
      there = std::max(there, line.front().second);
      line.pop_front();
      (void)stream.arrived(there, kPieces, now);
    }
    const auto piece = stream.next(kPieces, now);
    if (piece && piece->is_question) {
      (void)stream.arrived(there, kPieces, now);
    } else if (piece) {
      line.emplace_back((line.empty() ? now : line.back().first) + 2s, piece->there + 1);
      ++sent;
    }
  }
  EXPECT_LE(sent, kPieces + 5);
}

// The process that had sent a piece has ended, and the answer came to nobody.
TEST(FileStream, AsksAtOnceForItsNextUser) {
  FileStream stream;
  stream.set_begin(0);
  (void)stream.next(50, kNow);
  (void)stream.arrived(30, 50, kNow);
  EXPECT_EQ(stream.next(50, kNow)->here, 30U);
  EXPECT_FALSE(stream.next(50, kNow).has_value());
  stream.ask_again();
  EXPECT_TRUE(stream.next(60, kNow)->is_question);
  EXPECT_EQ(stream.arrived(50, 60, kNow), 50U) << "it had arrived";
  EXPECT_EQ(stream.next(60, kNow)->there, 50U);
}

// Two keepers, one after the other, and two lives of a process under the second: its file begins after what the first
// one's had sent, and goes on from there.
TEST(FileStream, AFileGoesOnWhereItBeganInALifeBefore) {
  FileStream first;
  (void)first.next(20, kNow);
  EXPECT_EQ(first.begin(), std::nullopt);
  EXPECT_EQ(first.arrived(80, 20, kNow), 0U) << "of another keeper: added at the end";
  EXPECT_EQ(first.begin(), 80U);
  for (const bool is_known : {true, false}) {
    FileStream second;
    if (is_known) second.set_begin(*first.begin());
    (void)second.next(50, kNow);
    EXPECT_EQ(second.arrived(100, 50, kNow), is_known ? 20U : 0U);
    EXPECT_EQ(second.next(50, kNow)->there, 100U);
    EXPECT_EQ(second.begin(), is_known ? 80U : 100U);
  }
}

TEST(FileStream, BelievesNoBeginningThatCannotBe) {
  for (const std::uint64_t there : {70U, 131U}) {  // the file was lost, or somebody else added to it
    FileStream stream;
    stream.set_begin(80);
    (void)stream.next(50, kNow);
    EXPECT_EQ(stream.arrived(there, 50, kNow), 0U);
    EXPECT_EQ(stream.begin(), there);
  }
}

// A machine that lost power, or a person, cuts the file in the run directory.
TEST(FileStream, GoesOnAtTheEndOfAFileThatBecameShorter) {
  FileStream stream;
  (void)stream.next(10, kNow);
  (void)stream.arrived(100, 10, kNow);
  (void)stream.next(10, kNow);
  ASSERT_EQ(stream.arrived(110, 20, kNow), 10U);
  Instant now = kNow;
  ASSERT_EQ(stream.next(20, now)->there, 110U);
  EXPECT_EQ(stream.arrived(50, 20, now), 10U) << "the answer to a piece, perhaps a late one";
  for (int answers = 0; answers < 2; ++answers) {
    now += 30s;
    ASSERT_TRUE(stream.next(20, now)->is_question) << answers;
    EXPECT_EQ(stream.arrived(50, 20, now), 10U) << "what arrived is not here any more";
  }
  const auto piece = stream.next(20, now);
  ASSERT_TRUE(piece && !piece->is_question);
  EXPECT_EQ(piece->there, 50U);
  EXPECT_EQ(piece->here, 10U);
  EXPECT_EQ(stream.arrived(60, 20, now), 20U);
  EXPECT_FALSE(stream.next(20, now).has_value());
}

TEST(FileStream, OneAnswerThatCannotBeChangesNothing) {
  FileStream stream;
  Instant now = kNow;
  (void)stream.next(20, now);
  (void)stream.arrived(100, 20, now);
  for (std::uint64_t arrived = 1; arrived < 10; ++arrived) {
    (void)stream.next(20, now);
    now += 30s;
    ASSERT_TRUE(stream.next(20, now)->is_question);
    EXPECT_EQ(stream.arrived(99, 20, now), arrived - 1) << "late";
    ASSERT_TRUE(stream.next(20, now + 30s)->is_question);
    EXPECT_EQ(stream.arrived(100 + arrived, 20, now), arrived);
    EXPECT_EQ(stream.next(20, now)->there, 100 + arrived);
  }
}

TEST(FileStream, AFileIsSentAgainFromWhereTheOtherWasCut) {
  for (const std::uint64_t there : {105U, 50U, 200U}) {  // in ours; before it; somebody else added to it
    FileStream stream(1000, FileStream::Kept::kAll);
    (void)stream.next(20, kNow);
    (void)stream.arrived(100, 20, kNow);
    (void)stream.next(20, kNow);
    ASSERT_EQ(stream.arrived(110, 20, kNow), 10U);
    (void)stream.next(20, kNow);
    Instant now = kNow;
    for (int answers = 0; answers < 2; ++answers) {
      now += 30s;
      ASSERT_TRUE(stream.next(20, now)->is_question) << there;
      (void)stream.arrived(there, 20, now);
    }
    const auto piece = stream.next(20, now);
    ASSERT_TRUE(piece && !piece->is_question);
    EXPECT_EQ(piece->there, there);
    EXPECT_EQ(piece->here, there == 105 ? 5U : 0U);
    EXPECT_EQ(stream.begin(), there == 105 ? 100U : there) << "for the process after this one";
    EXPECT_EQ(stream.size_max(), 1000 - *stream.begin());
  }
}

// The other file begins with somebody else's 70 bytes and takes 100.
TEST(FileStream, SendsNothingThatTheOtherFileHasNoRoomFor) {
  FileStream stream(100);
  EXPECT_EQ(stream.size_max(), 100U) << "as far as is known";
  (void)stream.next(50, kNow);
  (void)stream.arrived(70, 50, kNow);
  EXPECT_EQ(stream.size_max(), 30U);
  const auto piece = stream.next(50, kNow);
  EXPECT_EQ(piece->there, 70U);
  EXPECT_EQ(piece->bytes_max, 30U);
  EXPECT_EQ(stream.arrived(90, 50, kNow), 20U);
  EXPECT_EQ(stream.next(50, kNow)->bytes_max, 10U);
  EXPECT_FALSE(stream.is_full());
  EXPECT_EQ(stream.arrived(100, 50, kNow), 30U);
  EXPECT_TRUE(stream.is_full());
  for (Duration later = 0s; later < 10min; later += 10s) {
    EXPECT_FALSE(stream.next(50 + static_cast<std::uint64_t>(later / 10s), kNow + later).has_value());
  }
}

TEST(FileStream, AFullFileIsAskedOnceHowFarItGoes) {
  FileStream stream(100);
  ASSERT_TRUE(stream.next(50, kNow)->is_question);
  (void)stream.arrived(1000, 50, kNow);  // by a version with another bound
  EXPECT_EQ(stream.size_max(), 0U);
  EXPECT_FALSE(stream.next(50, kNow + 1h).has_value());
}

TEST(LogOutbox, KeepsLinesUntilTheyArrived) {
  LogOutbox outbox;
  outbox.add("one\n");
  outbox.add("two\n");
  EXPECT_EQ(outbox.bytes(0, 100), "one\ntwo\n");
  outbox.arrived(4);
  EXPECT_EQ(outbox.bytes(4, 2), "tw");
  EXPECT_EQ(outbox.bytes(0, 100), "");
  EXPECT_EQ(outbox.size(), 8U);
}

TEST(LogOutbox, IsBoundedAndSaysWhatItDropped) {  // S-6
  LogOutbox outbox(40);
  outbox.add(std::string(29, 'a') + "\n");
  for (int i = 0; i < 3; ++i) outbox.add("a line too many\n");
  EXPECT_EQ(outbox.dropped_bytes(), 48U);
  outbox.arrived(30);
  outbox.add("on\n");
  EXPECT_EQ(outbox.bytes(30, 100), "... 3 lines were dropped here\non\n");
}

TEST(RemoteFiles, WriteWhatBelongsThereAndNothingElse) {
  const Scratch scratch;
  RemoteFiles files(scratch.path(), 20);
  EXPECT_EQ(*files.keep(chunk_of("node7", 0, "hello ")), 6U);
  EXPECT_EQ(*files.keep(chunk_of("node7", 0, "hello ")), 6U) << "once more changes nothing";
  EXPECT_EQ(*files.keep(chunk_of("node7", 9, "hole")), 6U) << "no holes";
  EXPECT_EQ(*files.keep(chunk_of("node7", 0, "")), 6U) << "a question";
  EXPECT_EQ(*files.keep(chunk_of("node7", 6, "world\n")), 12U);
  EXPECT_EQ(*read_file((scratch.path() / "logs" / "node7.log").string()), "hello world\n");
  EXPECT_FALSE(files.keep(chunk_of("node7", 12, "much too much")).ok()) << "S-6";
  const FileChunk last = chunk_of("node7", 12, "its end\n");
  EXPECT_TRUE(files.is_last(last, *files.keep(last)));
  EXPECT_FALSE(files.is_last(chunk_of("node7", 0, ""), *files.keep(chunk_of("node7", 0, "")))) << "a question";
  for (const std::string name : {"", "..", "a/b", "spawner", "storage", ".hidden", std::string(200, 'x').c_str()}) {
    EXPECT_FALSE(files.keep(chunk_of(name, 0, "x")).ok()) << name;
  }
}

TEST(RemoteFiles, LeaveTheJournalItsSpace) {
  const Scratch scratch;
  RemoteFiles files(scratch.path(), 20, std::numeric_limits<std::uint64_t>::max());
  const auto refused = files.keep(chunk_of("node7", 0, "hello "));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kIo) << "its sender tries again";
}

TEST(RemoteFiles, DoNotMakeARunDirectoryThatIsAway) {
  const Scratch scratch;
  RemoteFiles files(scratch.path() / "away", 20);
  EXPECT_FALSE(files.keep(chunk_of("node7", 0, "hello ")).ok());
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "away"));
}

TEST(RemoteFiles, ARefusalIsNewsOncePerFile) {
  const Scratch scratch;
  RemoteFiles files(scratch.path(), 20);
  const auto is_told = [&files](const FileChunk& chunk) {
    const auto kept = files.keep(chunk);
    return !kept && files.is_news(chunk, kept.failure());
  };
  const auto too_much = [](const std::string& name) { return chunk_of(name, 0, std::string(21, 'x')); };
  FileChunk trace = too_much("node1");
  trace.kind = FileKind::kTrace;
  EXPECT_TRUE(is_told(too_much("node1")));
  EXPECT_TRUE(is_told(too_much("node2")));
  EXPECT_TRUE(is_told(trace)) << "another file";
  for (int again = 0; again < 5; ++again) {
    EXPECT_FALSE(is_told(chunk_of("node1", 0, ""))) << "a question, which is answered";
    EXPECT_FALSE(is_told(too_much("node1")));
    EXPECT_FALSE(is_told(too_much("node2")));
    EXPECT_FALSE(is_told(trace));
  }
  EXPECT_FALSE(is_told(chunk_of("node1", 0, "there is room again")));
  EXPECT_TRUE(is_told(too_much("node1")));
  EXPECT_FALSE(is_told(too_much("node2")));
}

TEST(RemoteFiles, ForgetRefusalsBeforeTheyAreTooMany) {  // S-6
  const Scratch scratch;
  RemoteFiles files(scratch.path(), 20);
  const Failure refusal = fail(Error::kRefused, "no");
  for (int name = 0; name < 1023; ++name) EXPECT_TRUE(files.is_news(chunk_of(compose("/", name), 0, "x"), refusal));
  EXPECT_FALSE(files.is_news(chunk_of("/0", 0, "x"), refusal));
  EXPECT_TRUE(files.is_news(chunk_of("/1023", 0, "x"), refusal));
  EXPECT_TRUE(files.is_news(chunk_of("/0", 0, "x"), refusal)) << "forgotten";
}

// Pieces and answers are lost and repeated, the sender is started again; the text arrives whole and in order.
TEST(FileStream, EverythingArrivesInOrderWhateverIsLost) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  std::string text;
  std::string there = "what was there before\n";
  const std::string before = there;
  FileStream stream;
  Instant now = kNow;
  std::optional<std::uint64_t> late_answer;
  for (int move = 0; move < 5000; ++move) {
    now += std::chrono::milliseconds(random() % 3000);
    if (random() % 3 == 0 && move < 4000) text += compose("line ", move, "\n");
    const auto piece = stream.next(text.size(), now);
    if (late_answer && random() % 4 == 0)
      (void)stream.arrived(*std::exchange(late_answer, std::nullopt), text.size(), now);
    if (!piece || random() % 5 == 0) continue;  // lost
    const std::string bytes = piece->is_question ? "" : text.substr(piece->here, 1 + random() % 40);
    if (piece->there <= there.size() && !bytes.empty()) {
      there.resize(std::max<std::size_t>(there.size(), piece->there + bytes.size()));
      there.replace(piece->there, bytes.size(), bytes);
    }
    if (random() % 5 == 0) {
      late_answer = there.size();
    } else {
      (void)stream.arrived(there.size(), text.size(), now);
    }
  }
  EXPECT_EQ(there, before + text);
}

// The other file is cut now and then, too: of a file nothing is missing in the end, of an outbox what was cut off.
TEST(FileStream, WhatFollowsArrivesThoughTheOtherFileIsCut) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  for (const FileStream::Kept kept : {FileStream::Kept::kAll, FileStream::Kept::kNotArrived}) {
    std::mt19937_64 random(seed);
    const std::string before = "what was there before\n";
    std::string text, there = before;
    FileStream stream(std::uint64_t{1} << 30, kept);
    Instant now = kNow;
    for (int move = 0; move < 5000; ++move) {
      now += std::chrono::milliseconds(random() % 3000);
      if (random() % 3 == 0 && move < 4000) text += compose("line ", move, "\n");
      if (random() % 500 == 0 && move < 3900)
        there.resize(there.size() - random() % std::min<std::size_t>(200, there.size() - before.size() + 1));
      const auto piece = stream.next(text.size(), now);
      if (!piece || random() % 5 == 0) continue;  // lost
      const std::string bytes = piece->is_question ? "" : text.substr(piece->here, 1 + random() % 40);
      if (piece->there <= there.size() && !bytes.empty()) {
        there.resize(std::max<std::size_t>(there.size(), piece->there + bytes.size()));
        there.replace(piece->there, bytes.size(), bytes);
      }
      if (random() % 5 != 0) (void)stream.arrived(there.size(), text.size(), now);
    }
    EXPECT_EQ(stream.arrived(), text.size());
    EXPECT_TRUE(there.ends_with(text.substr(text.size() - 10)));
    EXPECT_EQ(there == before + text, kept == FileStream::Kept::kAll);
  }
}

}  // namespace
}  // namespace shoal::file_stream_test
