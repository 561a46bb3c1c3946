// Texts of a peer are printable when a person reads them.
#include "messages/printable.h"

#include <gtest/gtest.h>

#include <random>

#include "messages/codec.h"

namespace shoal::printable_test {
namespace {

TEST(Printable, LeavesWordsOfAnyLanguageAsTheyAre) {
  for (const char* text :
       {"", "node1 was lost: Connection reset by peer", "Größe, 大きさ, размер", "a\xF0\x9F\x90\x9F!"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ReplacesWhatATerminalObeys) {
  EXPECT_EQ(printable("\x1B[2J\x1B]0;title\x07"), "?[2J?]0;title?");
  EXPECT_EQ(printable("one\ntwo\r\tthree\x7F"), "one?two??three?");
  EXPECT_EQ(printable("\xC2\x9B[2J"), "?[2J") << "C1, as one character of two bytes";
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("\xE2\x80\xAEtxt.exe \xE2\x80\xA8"), "?txt.exe ?") << "what turns the direction, separates lines";
}

TEST(Printable, LinesStayWhereTheyBelong) {
  EXPECT_EQ(printable("[run]\n\tsteps = 3\n\x1B[1m", TextShape::kLines), "[run]\n\tsteps = 3\n?[1m");
}

TEST(Printable, ReplacesBytesThatAreNoCharacter) {
  EXPECT_EQ(printable("\x80"), "?");
  EXPECT_EQ(printable("a\xC3"), "a?") << "cut";
  EXPECT_EQ(printable("\xC0\xAF"), "??") << "overlong";
  EXPECT_EQ(printable("\xE0\x80\x8A"), "???") << "an overlong line feed";
  EXPECT_EQ(printable("\xED\xA0\x80"), "???") << "half of a pair";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "????") << "beyond the last character";
}

// Any bytes become a text that is stable, not longer, and has no byte below a space.
TEST(Printable, RandomBytesBecomeText) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(random() % 12, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? 0xE2 : random() % 256);
    const std::string text = printable(bytes);
    EXPECT_LE(text.size(), bytes.size());
    EXPECT_EQ(printable(text), text);
    for (const char byte : text) EXPECT_GE(static_cast<unsigned char>(byte), 0x20);
  }
}

TEST(Printable, IsWhateverALetterSays) {
  const auto said = [](MessageBody body) {
    const auto decoded = decode(encode(Letter{{}, {}, std::move(body)}).bytes, {});
    EXPECT_TRUE(decoded.value) << decoded.malformed;
    return decoded.value->body;
  };
  const std::string bad = "\x1B[2Jnode1 has\nfinished";
  EXPECT_EQ(std::get<RunEvent>(said(RunEvent{RunEventKind::kFailed, bad, bad, 0})).reason, "?[2Jnode1 has?finished");
  EXPECT_EQ(std::get<Leaving>(said(Leaving{{}, bad})).reason, "?[2Jnode1 has?finished");
  EXPECT_EQ(std::get<PeerRefused>(said(PeerRefused{{}, ProcessRole::kNode, bad})).name, "?[2Jnode1 has?finished");
  const std::string toml = "[run]\nsteps = 3\n";
  EXPECT_EQ(std::get<Welcome>(said(Welcome{1, {}, {}, {}, {}, {}, toml})).config_toml, toml);
}

}  // namespace
}  // namespace shoal::printable_test
