// Every message survives the codec, field for field and bit for bit; nothing malformed gets through or crashes it.
#include "messages/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "messages/catalogue/facts.h"
#include "tests/messages/samples.h"
#include "tests/support/resident_values.h"

namespace shoal::codec_test {
namespace {

Letter addressed(MessageBody body) {
  return {ProcessIncarnation{7}, {ProcessIncarnation{9}, Role::kStage, StageId{1}, Incarnation{42}}, std::move(body)};
}

TEST(Codec, RoundTripsEveryMessage) {
  const std::uint64_t seed = 20;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::set<std::size_t> seen;
  for (int round = 0; round < 20; ++round) {
    for (const auto& body : samples::every_body(random)) {
      seen.insert(body.index());
      const Letter letter = addressed(body);
      const EncodedLetter encoded = encode(letter);
      const Decoded<Letter> decoded = decode(encoded.bytes, encoded.buffers);
      ASSERT_TRUE(decoded.value) << "body " << body.index() << ": " << decoded.malformed;
      EXPECT_TRUE(*decoded.value == letter) << "body " << body.index();
    }
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<MessageBody::Variant>) << "a message has no sample";
}

TEST(Codec, RefusesALetterWhoseTensorIsNotOnTheHost) {
  Forward forward;
  forward.input = TensorBlob{DType::kInt64, {2}, std::make_shared<AlignedBuffer>(16)};
  EXPECT_NO_THROW((void)encode(addressed(forward)));
  const auto values = move_to_device(forward.input);
  EXPECT_EQ(residents_of(forward).size(), 1U);
  EXPECT_TRUE(has_tensor(forward));
  EXPECT_EQ(tensor_bytes(forward), 16U);
  EXPECT_THROW((void)encode(addressed(forward)), std::logic_error);
}

TEST(Codec, RoundTripsEveryJournalEntry) {
  std::mt19937_64 random(21);
  std::set<std::size_t> seen;
  for (const auto& entry : samples::every_entry(random)) {
    seen.insert(entry.body.index());
    const auto decoded = decode_journal_entry(encode(entry));
    ASSERT_TRUE(decoded.value) << decoded.malformed;
    EXPECT_TRUE(*decoded.value == entry);
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<JournalBody::Variant>);
}

TEST(Codec, RoundTripsAJournalsSnapshot) {
  std::mt19937_64 random(24);
  for (int round = 0; round < 20; ++round) {
    const JournalSnapshot snapshot = samples::snapshot(random);
    const auto decoded = decode_journal_snapshot(encode(snapshot));
    ASSERT_TRUE(decoded.value) << decoded.malformed;
    EXPECT_TRUE(*decoded.value == snapshot);
  }
  EXPECT_TRUE(decode_journal_snapshot(encode(JournalSnapshot{})).value) << "of an empty journal";
}

// A View is made from it as it is.
TEST(Codec, RefusesASnapshotThatNoViewCanBeMadeOf) {
  using Break = std::function<void(JournalSnapshot&)>;
  const std::vector<std::pair<const char*, Break>> breaks{
      {"replicas out of order",
       [](auto& it) { std::swap(it.view.stages[0].replicas[0], it.view.stages[0].replicas[1]); }},
      {"a replica of two stages", [](auto& it) { it.view.stages[2] = it.view.stages[0]; }},
      {"changes later", [](auto& it) { it.view.stages[0].last_change.value = it.view.position.value + 1; }},
      {"too many stages", [](auto& it) { it.view.stages.resize(4097); }},
      {"sync groups out of order", [](auto& it) { it.view.groups[1] = it.view.groups[0]; }},
      {"rounds out of order", [](auto& it) { std::swap(it.view.rounds[0], it.view.rounds[1]); }},
      {"totals out of order", [](auto& it) { std::swap(it.view.totals[0], it.view.totals[1]); }},
      {"totals of no step", [](auto& it) { it.view.totals[1].version = it.view.committed_steps + 1; }},
      {"too many totals", [](auto& it) { it.view.totals.resize(65537); }},
      {"lose more", [](auto& it) { it.view.lost.in_rounds = 29; }},
      {"quarantines out of order", [](auto& it) { it.view.quarantined[1] = it.view.quarantined[2]; }},
      {"too many skips", [](auto& it) { it.view.skips_in_a_row = ~0U; }},
      {"taken twice", [](auto& it) { it.view.requeued.taken[1].first = PlaceId{21}; }},
      {"taken twice", [](auto& it) { it.view.requeued.taken[1].before = 4; }},
      {"as many samples as are lost", [](auto& it) { it.view.requeued.taken[1].lost.clear(); }},
      {"taken twice", [](auto& it) { it.view.requeued.taken[1].first = PlaceId{~std::uint64_t{0}}; }},
      {"too many taken",
       [](auto& it) {
         it.view.requeued.taken[0] = {0, PlaceId{1}, 3, {PlaceId{0}}, {PlaceId{0}}};
       }},
      {"ends of the run out of order",
       [](auto& it) {
         it.view.ends = {7, 7};
       }},
      {"above the highest", [](auto& it) { it.highest_branch = Branch{0}; }},
      {"contributions out of order", [](auto& it) { std::swap(it.contributed[0], it.contributed[1]); }},
      {"checkpoints out of order", [](auto& it) { std::swap(it.checkpoints[0], it.checkpoints[1]); }}};
  std::mt19937_64 random(25);
  for (const auto& [word, spoil] : breaks) {
    JournalSnapshot snapshot = samples::snapshot(random);
    spoil(snapshot);
    EXPECT_THAT(decode_journal_snapshot(encode(snapshot)).malformed, testing::HasSubstr(word));
  }
}

TEST(Codec, TellsDifferentMessagesApart) {  // negative control of the equality above
  std::mt19937_64 random(22);
  auto a = addressed(Progress{{}, Incarnation{1}, 5});
  auto b = addressed(Progress{{}, Incarnation{1}, 6});
  EXPECT_FALSE(*decode(encode(a).bytes, {}).value == b);
}

TEST(Codec, KeepsTheBitsOfEveryFloat) {
  for (const std::uint64_t bits : {0x7ff8000000000001ULL, 0x7ff0000000000000ULL, 0x8000000000000000ULL, 1ULL}) {
    Backward backward;
    std::memcpy(&backward.loss_sum, &bits, sizeof bits);
    const auto decoded = decode(encode(addressed(backward)).bytes, {});
    ASSERT_TRUE(decoded.value);
    std::uint64_t back = 0;
    std::memcpy(&back, &std::get<Backward>(decoded.value->body).loss_sum, sizeof back);
    EXPECT_EQ(back, bits);
  }
}

TEST(Codec, RefusesATensorWhoseBufferIsMissingOrOfAnotherSize) {
  std::mt19937_64 random(23);
  Part part;
  part.values = samples::tensor(random, DType::kInt64, {16});
  const EncodedLetter encoded = encode(addressed(part));
  EXPECT_THAT(decode(encoded.bytes, {}).malformed, testing::HasSubstr("without its buffer"));
  EXPECT_THAT(decode(encoded.bytes, {std::make_shared<AlignedBuffer>(127)}).malformed, testing::HasSubstr("disagree"));
  EXPECT_TRUE(decode(encoded.bytes, encoded.buffers).value);
}

TEST(Codec, RefusesShapesThatOverflowOrAreNegative) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{std::int64_t{1} << 40, std::int64_t{1} << 40},
        {-1, -8},
        {1, 1, 1, 1, 1, 1, 1, 1, 8}}) {
    Part part;
    part.values = {DType::kUint8, shape, std::make_shared<AlignedBuffer>(8)};
    const EncodedLetter encoded = encode(addressed(part));
    EXPECT_FALSE(decode(encoded.bytes, encoded.buffers).value);
  }
}

TEST(Codec, RefusesEnumerationsOutOfRange) {
  const auto encoded = encode(addressed(Refusal{{}, {}, Purpose::kTrain, static_cast<RefusalReason>(200)}));
  EXPECT_THAT(decode(encoded.bytes, {}).malformed, testing::HasSubstr("enumeration"));
}

TEST(Codec, RefusesAStepThatTookNoTimeThatCanBe) {
  const auto decoded = [](double step_ms) {
    Commit commit;
    commit.step_ms = step_ms;
    return decode(encode(addressed(JournalEntries{{}, {}, {{{}, {}, {}, commit}}})).bytes, {});
  };
  for (const double bad : {-1e-9, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(decoded(bad).malformed, testing::HasSubstr("time")) << bad;
  }
  EXPECT_TRUE(decoded(0).value);
  EXPECT_TRUE(decoded(12.5).value);
}

// A peer's list may say that its elements have no bytes: then any number of them fits a few.
TEST(Codec, RefusesStateThatWasOnItsWayForNoTimeThatCanBe) {
  const auto decoded = [](double on_its_way_ms) {
    StateProgress progress;
    progress.on_its_way_ms = on_its_way_ms;
    return decode(encode(Letter{{}, to_supervisor(), progress}).bytes, {});
  };
  for (const double bad : {-1.0, double(INFINITY), double(NAN)}) {
    EXPECT_THAT(decoded(bad).malformed, testing::HasSubstr("time")) << bad;
  }
  EXPECT_TRUE(decoded(0).value && decoded(1e9).value);
}

TEST(Codec, TakesNoMemoryForAListThatDidNotCome) {
  constexpr std::uint64_t kCount = 1009;
  const std::vector<JournalEntry> entries(kCount, {JournalPosition{1}, {}, {}, FinishRun{"over"}});
  EncodedLetter encoded = encode(addressed(JournalEntries{{}, {}, entries}));
  ASSERT_TRUE(decode(encoded.bytes, {}).value) << "the control";
  std::vector<std::uint64_t> words(encoded.bytes.size() / sizeof(std::uint64_t));
  std::memcpy(words.data(), encoded.bytes.data(), encoded.bytes.size());
  const auto tag = std::find_if(words.begin(), words.end(), [](std::uint64_t word) {
    return (word & 0xFFFFFFFFU) == kCount << 2U && word >> 32U != 0;
  });
  ASSERT_NE(tag, words.end()) << "the word that says how many elements of what size follow";
  *tag = 16 * kCount << 2U;  // sixteen times as many, of no size
  std::memcpy(encoded.bytes.data(), words.data(), encoded.bytes.size());
  EXPECT_THAT(decode(encoded.bytes, {}).malformed, testing::HasSubstr("a list"));
}

// One text may stand for many fields: here each entry's reason becomes a long one behind the message's end.
TEST(Codec, ReadsNoMoreThanSomeTimesWhatCame) {
  const auto with_long_reasons = [](std::size_t entries_count, std::size_t words_of_text) {
    const std::string reason = "12345678";
    const std::vector<JournalEntry> entries(entries_count, {JournalPosition{1}, {}, {}, FinishRun{reason}});
    const std::vector<char> bytes = encode(addressed(JournalEntries{{}, {}, entries})).bytes;
    std::vector<std::uint64_t> words(bytes.size() / sizeof(std::uint64_t));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    const std::uint64_t end = words.size();
    for (std::uint64_t i = 0; i < end; ++i) {
      const bool is_reason = words[i] >> 32U == ((reason.size() + 1) << 3U | 2U) && (words[i] & 3U) == 1U;
      if (is_reason) words[i] = (8 * words_of_text) << 35U | std::uint64_t{2} << 32U | (end - i - 1) << 2U | 1U;
    }
    words.resize(end + words_of_text);
    words[0] = (words.size() - 1) << 32U;  // one segment of so many words
    std::vector<char> changed(words.size() * sizeof(std::uint64_t));
    std::memcpy(changed.data(), words.data(), changed.size());
    return changed;
  };
  EXPECT_TRUE(decode(with_long_reasons(2, 100), {}).value) << "the control: no more than an honest message has";
  EXPECT_THAT(decode(with_long_reasons(40, 100000), {}).malformed, testing::HasSubstr("limit"));
}

TEST(Codec, SurvivesRandomDamage) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::size_t refused = 0;
  for (int round = 0; round < 40; ++round) {
    for (const auto& body : samples::every_body(random)) {
      EncodedLetter encoded = encode(addressed(body));
      for (int flips = 0; flips < 3; ++flips) {
        encoded.bytes[random() % encoded.bytes.size()] ^= static_cast<char>(1U << random() % 8);
      }
      if (random() % 4 == 0) encoded.bytes.resize(random() % encoded.bytes.size() / 8 * 8);
      refused += decode(encoded.bytes, encoded.buffers).value ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100U);
}

// A list of structs that says that they are empty needs no byte for any of them, however many it announces. The letters
// have one element and zeros otherwise, so that the words that look like such a list's pointer are.
TEST(Codec, S6ListsTakeNoMoreMemoryThanTheirMessageHasRoomFor) {
  Reduced reduced;
  reduced.norms.emplace_back();
  Manifest manifest;
  manifest.entries.emplace_back();
  Backward backward;
  backward.trail.emplace_back();
  Peers peers;
  peers.peers.emplace_back();
  Heartbeat heartbeat;
  heartbeat.actors.emplace_back();
  for (const MessageBody& body : {MessageBody(reduced), MessageBody(manifest), MessageBody(backward),
                                  MessageBody(peers), MessageBody(heartbeat)}) {
    const EncodedLetter letter = encode(addressed(body));
    EXPECT_TRUE(decode(letter.bytes, letter.buffers).value) << "the control: body " << body.index();
    int lists = 0;
    for (std::size_t at = 0; at < letter.bytes.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, letter.bytes.data() + at, 8);
      if ((word & 3U) != 1 || (word >> 32U & 7U) != 7) continue;
      ++lists;
      for (const std::uint64_t count : {std::uint64_t{10000}, std::uint64_t{1000000}, (std::uint64_t{1} << 29U) - 1}) {
        std::vector<char> bytes = letter.bytes;
        const std::uint64_t empty = (word & 0xFFFFFFFFU) | count << 35U;
        std::memcpy(bytes.data() + at, &empty, 8);
        EXPECT_FALSE(decode(bytes, letter.buffers).value) << "body " << body.index() << ", " << count;
      }
    }
    EXPECT_EQ(lists, 1) << "body " << body.index();
  }
}

}  // namespace
}  // namespace shoal::codec_test
