// Every backend in every wire format: whatever the order of messages, their repeats and losses, all members end with
// the bits of the plain reference.
#include "runtime/sync/reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>

#include "runtime/sync/ring.h"
#include "runtime/sync/wire/wire_codec.h"
#include "tests/runtime/sync/random_floats.h"
#include "tests/runtime/sync/reduction_swarm.h"
#include "tests/support/fake_executor.h"

namespace shoal::reduction_test {
namespace {

constexpr SyncBackend kBackends[] = {SyncBackend::kRing, SyncBackend::kOwner};
constexpr WireFormat kFormats[] = {WireFormat::kFp32, WireFormat::kBf16, WireFormat::kInt8, WireFormat::kE3m0};
constexpr std::size_t kBucketValues = 256;  // values in the plan's 1024 bytes

using Vectors = std::vector<std::vector<float>>;

Vectors random_vectors(std::uint64_t seed, std::size_t members, std::size_t count) {
  Vectors vectors;
  for (std::size_t at = 0; at < members; ++at) {
    vectors.push_back(at % 2 == 0 ? gaussian_values(seed + at, count) : student_t3_values(seed + at, count));
  }
  return vectors;
}

std::vector<TensorBlob> blobs_of(const Vectors& vectors) {
  std::vector<TensorBlob> blobs;
  for (const auto& vector : vectors) blobs.push_back(blob_of(vector));
  return blobs;
}

std::vector<float> sent(WireFormat format, std::vector<float> values) {
  const auto blob = encode_values(format, values);
  ENSURE(decode_values(*blob, format, values).ok(), "what was encoded is decoded");
  return values;
}

void add_to(std::vector<float>& total, const std::vector<float>& more) {
  for (std::size_t at = 0; at < total.size(); ++at) total[at] += more[at];
}

enum class LastEncoding { kDecodedAgain, kLeftOut };

// Reduces one bucket in plain loops over whole vectors.
std::vector<float> reference_of_bucket(const ReductionPlan& plan, const Vectors& values, std::size_t start) {
  const std::size_t members = values.size();
  std::vector<float> total;
  for (std::size_t step = 0; step < members; ++step) {
    const bool is_ring = plan.backend == SyncBackend::kRing;
    const std::size_t member = is_ring ? (start + step) % members : step;
    std::vector<float> more = values[member];
    if (!is_ring && member != start) more = sent(plan.wire, more);
    if (step > 0) add_to(more, is_ring ? sent(plan.wire, total) : total);
    total = more;
  }
  return total;
}

std::vector<float> reference_of(const ReductionPlan& plan, const Vectors& vectors,
                                LastEncoding last = LastEncoding::kDecodedAgain) {
  if (vectors.size() == 1) return vectors[0];
  std::vector<float> whole;
  for (std::size_t begin = 0; begin < vectors[0].size(); begin += kBucketValues) {
    const std::size_t end = std::min(begin + kBucketValues, vectors[0].size());
    Vectors values;
    for (const auto& vector : vectors) {
      values.emplace_back(vector.begin() + static_cast<std::ptrdiff_t>(begin),
                          vector.begin() + static_cast<std::ptrdiff_t>(end));
    }
    std::vector<float> bucket = reference_of_bucket(plan, values, begin / kBucketValues % vectors.size());
    if (last == LastEncoding::kDecodedAgain) bucket = sent(plan.wire, bucket);
    whole.insert(whole.end(), bucket.begin(), bucket.end());
  }
  return whole;
}

std::string name_of(const ReductionPlan& plan) {
  return std::string(plan.backend == SyncBackend::kRing ? "ring" : "owner") + ", format " +
         std::to_string(static_cast<int>(plan.wire)) + ", members " + std::to_string(plan.members);
}

template <class Body>
void for_all_plans(const Body& body) {
  for (const SyncBackend backend : kBackends) {
    for (const WireFormat wire : kFormats) {
      for (std::uint32_t members = 1; members <= 8; ++members) {
        const ReductionPlan plan{backend, wire, members};
        SCOPED_TRACE(name_of(plan));
        body(plan);
      }
    }
  }
}

void expect_all_equal(ReductionSwarm& swarm, const std::vector<float>& wanted) {
  ASSERT_TRUE(swarm.is_complete());
  const TensorBlob expected = blob_of(wanted);
  for (std::size_t at = 0; at < swarm.size(); ++at) EXPECT_EQ(swarm.at(at).sum(), expected) << "member " << at;
}

TEST(Reductions, GiveEveryMemberTheBitsOfTheReferenceInAnyOrderOfMessages) {
  for_all_plans([](ReductionPlan plan) {
    const std::uint64_t seed = 10 * plan.members + static_cast<std::uint64_t>(plan.wire);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::size_t count = 1 + random() % 5000;
    plan.window = 1 + random() % 4;
    const Vectors vectors = random_vectors(seed, plan.members, count);
    const auto contributions = blobs_of(vectors);
    ReductionSwarm swarm(plan, contributions);
    ASSERT_TRUE(swarm.settle(random)) << "there is no end to it";
    expect_all_equal(swarm, reference_of(plan, vectors));
    EXPECT_EQ(contributions, blobs_of(vectors)) << "a contribution was written";
  });
}

// Negative controls of the test above: what a member would hold that kept the sum it computed instead of the decoded
// one, and the sum in another order of members.
TEST(Reductions, WouldDifferHadTheLastMemberKeptWhatItComputed) {
  for (const SyncBackend backend : kBackends) {
    for (const WireFormat wire : {WireFormat::kBf16, WireFormat::kInt8, WireFormat::kE3m0}) {
      const ReductionPlan plan{backend, wire, 4};
      Vectors vectors = random_vectors(5, 4, 2000);
      EXPECT_NE(reference_of(plan, vectors), reference_of(plan, vectors, LastEncoding::kLeftOut)) << name_of(plan);
      const auto in_order = reference_of(plan, vectors);
      std::swap(vectors[1], vectors[2]);
      EXPECT_NE(reference_of(plan, vectors), in_order) << name_of(plan);
    }
  }
}

TEST(Reductions, RecoverEveryLostPartByRepeating) {
  for_all_plans([](ReductionPlan plan) {
    if (plan.members == 1) return;
    const std::uint64_t seed = 70 * plan.members + static_cast<std::uint64_t>(plan.wire);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    plan.window = 1 + random() % 4;
    const Vectors vectors = random_vectors(seed, plan.members, 1500);
    ReductionSwarm swarm(plan, blobs_of(vectors));
    int rounds = 0;
    for (; !swarm.is_complete() && rounds < 4000; ++rounds) {
      while (!swarm.wire().empty()) {
        const std::size_t index = random() % swarm.wire().size();
        random() % 2 == 0 ? swarm.lose(index) : swarm.deliver(index);
      }
      swarm.repeat();
    }
    EXPECT_GT(rounds, 1);
    expect_all_equal(swarm, reference_of(plan, vectors));
  });
}

// Whatever is under way when the group repeats its order comes before the marks.
TEST(Reductions, SendNothingAgainThatIsOnItsWay) {
  for_all_plans([](ReductionPlan plan) {
    plan.window = plan.members % 2;  // one bucket, or as suits the backend
    ReductionSwarm swarm(plan, blobs_of(random_vectors(90, plan.members, 3000)));
    ReductionSwarm undisturbed(plan, blobs_of(random_vectors(90, plan.members, 3000)));
    undisturbed.settle();
    while (!swarm.wire().empty()) {
      const auto marks = swarm.mark();
      for (std::size_t under_way = swarm.wire().size(); under_way > 0; --under_way) swarm.deliver(0);
      for (const AddressedMark& mark : marks) swarm.hear(mark);
    }
    EXPECT_TRUE(swarm.is_complete());
    EXPECT_EQ(swarm.bytes(), undisturbed.bytes());
  });
}

// Freed memory is given out again, and its last contents would travel to every other member.
TEST(Reductions, SendNothingOfTheirMemoryWithAMark) {
  for_all_plans([](const ReductionPlan& plan) {
    ReductionSwarm swarm(plan, blobs_of(random_vectors(91, plan.members, 3000)));
    {
      std::deque<AlignedBuffer> used;
      for (int count = 0; count < 64; ++count) *used.emplace_back(1).data() = std::byte{0xFF};
    }
    for (const AddressedMark& mark : swarm.mark()) EXPECT_EQ(*mark.mark.values.bytes->data(), std::byte{0});
  });
}

// Before a link that carries nothing until all else has come to rest, whichever it is, waits what a window allows.
TEST(Reductions, HaveNoMoreUnderWayThanTheirWindows) {
  constexpr std::size_t kValues = 100'000;  // 391 buckets
  for (const SyncBackend backend : kBackends) {
    for (const std::uint32_t members : {2U, 3U, 5U}) {
      const auto most_waiting = [&](std::size_t window) {
        ReductionPlan plan{backend, WireFormat::kFp32, members};
        plan.window = window;
        ReductionSwarm swarm(plan, blobs_of(random_vectors(98, members, kValues)));
        std::size_t most = 0;
        while (!swarm.wire().empty()) {
          const auto& wire = swarm.wire();
          const auto is_free = [](const AddressedPart& part) { return part.receiver != Incarnation{100}; };
          const auto next = std::ranges::find_if(wire, is_free);
          if (next == wire.end()) most = std::max(most, wire.size());
          swarm.deliver(next == wire.end() ? 0 : static_cast<std::size_t>(next - wire.begin()));
        }
        EXPECT_TRUE(swarm.is_complete());
        return most;
      };
      EXPECT_LE(most_waiting(2), std::size_t{2} * 2 * members) << name_of({backend, WireFormat::kFp32, members});
      EXPECT_GT(most_waiting(kValues), std::size_t{100} / members) << "the control";
    }
  }
}

TEST(Reductions, SendAgainNoMoreThanWasLostAndWhatItIsMadeOf) {
  for (const SyncBackend backend : kBackends) {
    for (const std::uint32_t members : {2U, 3U, 5U}) {
      ReductionSwarm swarm({backend, WireFormat::kFp32, members}, blobs_of(random_vectors(95, members, 20'000)));
      std::mt19937_64 random(members);
      std::uint64_t lost = 0;
      while (!swarm.wire().empty()) {
        const bool is_lost = random() % 50 == 0;
        lost += is_lost ? swarm.wire().front().part.values.byte_count() : 0;
        is_lost ? swarm.lose(0) : swarm.deliver(0);
      }
      ASSERT_GT(lost, 0U);
      while (!swarm.is_complete()) {
        swarm.repeat();
        swarm.settle();
      }
      const double needed = analytic_bytes(WireFormat::kFp32, 20'000, members);
      EXPECT_LE(static_cast<double>(swarm.bytes()), needed + static_cast<double>(members * lost));
    }
  }
}

TEST(Reductions, AnswerNoQuestionThatIsNotInEarnest) {
  for (const SyncBackend backend : kBackends) {
    ReductionSwarm swarm({backend, WireFormat::kFp32, 3}, blobs_of(random_vectors(96, 3, 2000)));
    const AddressedPart first = swarm.wire().front();
    const PartId id{first.part.bucket, first.part.hop};
    GroupReduction& sender = swarm.member(first.part.member);
    const MissingParts good{first.part.order, first.receiver, first.part.member, 1, {id}};
    std::vector<MissingParts> bad(8, good);
    bad[0].order.epoch.counter += 1;
    bad[1].member = Incarnation{1};
    bad[2].member = first.part.member;
    bad[3].holder = first.receiver;
    bad[4].parts = {id, id};
    bad[5].parts = {{99, id.hop}};
    bad[6].parts = {{id.bucket, 99}};
    bad[7].parts = {};
    for (const MissingParts& question : bad) {
      const auto given = sender.send_again(question);
      EXPECT_TRUE(given.parts.empty() && given.questions.empty());
    }
    EXPECT_EQ(sender.send_again(good).parts.size(), 1U) << "the control";
    PartsSent mark{first.part.order, first.part.member, 1, {}};
    EXPECT_TRUE(swarm.member(first.receiver).missing(mark)) << "the control";
    mark.order.epoch.counter += 1;
    EXPECT_FALSE(swarm.member(first.receiver).missing(mark)) << "P-15";
    EXPECT_FALSE(swarm.member(first.receiver).missing({first.part.order, Incarnation{1}, 1, {}}));
  }
}

TEST(Reductions, CountThePartsThatBroughtThemCloser) {
  for (const SyncBackend backend : kBackends) {
    ReductionSwarm swarm({backend, WireFormat::kFp32, 3}, blobs_of(random_vectors(97, 3, 2000)));
    std::mt19937_64 random(1);
    const std::uint64_t buckets = (2000 + kBucketValues - 1) / kBucketValues;
    EXPECT_TRUE(swarm.settle(random));
    std::uint64_t taken = 0;
    for (std::size_t at = 0; at < 3; ++at) taken += swarm.at(at).parts_taken();
    EXPECT_EQ(taken, buckets * 4) << "there and back, however often they come";
  }
}

TEST(Reductions, OfExactSumsTravelAsTheyAreOnEveryBackend) {
  for (const SyncBackend backend : kBackends) {
    for (std::uint32_t members = 1; members <= 8; ++members) {
      const ReductionPlan plan{backend, WireFormat::kE3m0, members, 64};
      std::mt19937_64 random(members);
      std::vector<std::int64_t> expected(101, 0);
      std::vector<TensorBlob> contributions;
      for (std::uint32_t at = 0; at < members; ++at) {
        std::vector<std::int64_t> values(expected.size());
        for (auto& value : values) value = static_cast<std::int64_t>(random() >> 8U) - (std::int64_t{1} << 55U);
        for (std::size_t i = 0; i < values.size(); ++i) expected[i] += values[i];
        contributions.push_back(make_values(DType::kInt64, values));
      }
      ReductionSwarm swarm(plan, std::move(contributions));
      ASSERT_TRUE(swarm.settle(random));
      for (std::size_t at = 0; at < members; ++at) EXPECT_EQ(values_of(swarm.at(at).sum()), expected);
    }
  }
}

TEST(Reductions, OfOneMemberAreItsContributionUntouched) {
  for (const SyncBackend backend : kBackends) {
    ReductionSwarm swarm({backend, WireFormat::kE3m0, 1}, {blob_of(gaussian_values(1, 600))});
    EXPECT_TRUE(swarm.wire().empty());
    EXPECT_EQ(swarm.at(0).sum(), blob_of(gaussian_values(1, 600)));
    EXPECT_FALSE(swarm.at(0).residual().has_value());
  }
}

TEST(Reductions, TakeNothingOfAnotherEpochWhichWouldOtherwiseChangeTheSum) {
  for (const SyncBackend backend : kBackends) {
    const ReductionPlan plan{backend, WireFormat::kInt8, 3};
    ReductionPlan voided_plan = plan;
    voided_plan.epoch = 2;
    const Vectors vectors = random_vectors(40, 3, 1000);
    ReductionSwarm voided(voided_plan, blobs_of(random_vectors(50, 3, 1000)));
    ReductionSwarm current(plan, blobs_of(vectors));
    ReductionSwarm deceived(plan, blobs_of(vectors));
    for (auto& [receiver, part] : voided.wire()) {
      EXPECT_TRUE(current.member(receiver).receive(part).empty());
      part.order = ReductionSwarm::order_of(plan.epoch);
      deceived.wire().push_front({receiver, part});
    }
    current.settle();
    expect_all_equal(current, reference_of(plan, vectors));
    deceived.settle();
    EXPECT_NE(deceived.at(0).sum(), current.at(0).sum()) << "control: with its epoch rewritten a part does enter";
  }
}

TEST(Reductions, RefuseAndCountPartsOfAnotherMemberBucketHopTypeLengthOrWithWhatIsNoNumber) {
  for (const SyncBackend backend : kBackends) {
    for (const WireFormat wire : kFormats) {
      ReductionSwarm swarm({backend, wire, 3}, blobs_of(random_vectors(60, 3, 2000)));
      const auto [receiver, good] = swarm.wire().front();
      GroupReduction& target = swarm.member(receiver);
      std::vector<Part> bad(9, good);
      bad[0].member = receiver;
      bad[1].member = Incarnation{1};
      bad[2].bucket = 99;
      bad[3].hop = 99;
      bad[4].hop = good.hop + 1;
      bad[5].values = make_values(DType::kInt64, std::vector<std::int64_t>(kBucketValues / 2, 1));
      bad[6].values = *encode_values(wire, std::vector<float>(kBucketValues - 1, 1));
      bad[7].values = TensorBlob{};
      bad[8].order.branch = Branch{1};
      std::size_t refused = 0;
      for (const Part& part : bad) {
        EXPECT_TRUE(target.receive(part).empty()) << refused;
        EXPECT_EQ(target.refused_count(), ++refused);
      }
      if (wire != WireFormat::kFp32) {
        Part poisoned = good;
        auto bytes = std::make_shared<AlignedBuffer>(good.values.byte_count());
        std::memcpy(bytes->data(), good.values.bytes->data(), bytes->size());
        std::memset(bytes->data() + kWireHeaderBytes, 0xFF, 4);
        poisoned.values.bytes = std::move(bytes);
        EXPECT_TRUE(target.receive(poisoned).empty());
        EXPECT_EQ(target.refused_count(), ++refused);
      }
      swarm.settle();
      EXPECT_TRUE(swarm.is_complete());
      EXPECT_EQ(target.refused_count(), refused) << "control: the good ones are not";
    }
  }
}

TEST(Reductions, RefuseAContributionThatCannotBeSent) {
  const ReductionSetup setup{ReductionSwarm::order_of(1), {Incarnation{1}, Incarnation{2}}, Incarnation{1}};
  for (const SyncBackend backend : kBackends) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 0x1p+91F}) {
      std::vector<float> values(700, 1);
      values[600] = bad;
      ReductionSetup encoded = setup;
      encoded.wire = WireFormat::kInt8;
      EXPECT_FALSE(make_reduction(backend, encoded, blob_of(values)).ok());
      EXPECT_TRUE(make_reduction(backend, setup, blob_of(values)).ok()) << "as they are, all floats travel";
      values[600] = 0x1p+90F;
      EXPECT_TRUE(make_reduction(backend, encoded, blob_of(values)).ok()) << "control";
    }
  }
}

// One bucket would go round the ring hop after hop, while all other links are idle. Floats keep theirs: what starts
// where decides in which order they are added.
TEST(Reductions, ASmallSumOfIntegersIsCutSoThatEachMemberStartsSome) {
  EXPECT_EQ(bucket_bytes_of_ring(8, 2), 32U << 10U);
  EXPECT_EQ(bucket_bytes_of_ring(4'000'000, 2), 503'808U);
  EXPECT_EQ(bucket_bytes_of_ring(100'000'000, 2), kBucketBytes);
  ReductionSetup setup{ReductionSwarm::order_of(1), {Incarnation{1}, Incarnation{2}, Incarnation{3}}, Incarnation{1}};
  const auto started = [&setup](TensorBlob contribution) {
    const auto made = make_reduction(SyncBackend::kRing, setup, std::move(contribution));
    return (*made)->begin().size();
  };
  EXPECT_EQ(started(make_values(DType::kInt64, std::vector<std::int64_t>(49'152, 1))), 4U);
  EXPECT_EQ(started(blob_of(std::vector<float>(98'304, 1))), 1U);
  setup.bucket_bytes = 1024;
  EXPECT_EQ(started(make_values(DType::kInt64, std::vector<std::int64_t>(49'152, 1))), 128U)
      << "no larger than asked for";
}

TEST(Reductions, AreABugWithoutTheirOwnMember) {
  for (const SyncBackend backend : kBackends) {
    const ReductionSetup setup{ReductionSwarm::order_of(1), {Incarnation{2}, Incarnation{3}}, Incarnation{1}};
    EXPECT_THROW((void)make_reduction(backend, setup, blob_of(std::vector<float>{1})), Bug);
  }
}

// Encoding the decoded sum once more gives the same bytes for every scale that an encoder makes, but not for all that
// can be sent: 127 * 0x1.ffff8p+0 / 127 is another float.
TEST(Reductions, RepeatASumWithTheVeryBytesItCameWith) {
  const std::vector<float> ones(kBucketValues, 1);
  ReductionSwarm swarm({SyncBackend::kRing, WireFormat::kInt8, 3}, blobs_of({ones, ones, ones}));
  swarm.deliver(0);
  swarm.deliver(0);
  auto [receiver, whole] = swarm.wire().front();
  ASSERT_EQ(whole.hop, 2U);
  auto bytes = std::make_shared<AlignedBuffer>(whole.values.byte_count());
  std::memcpy(bytes->data(), whole.values.bytes->data(), bytes->size());
  const float scale = 0x1.ffff8p+0F;
  std::memcpy(bytes->data() + kWireHeaderBytes, &scale, sizeof(scale));
  whole.values.bytes = bytes;
  const auto passed_on = swarm.member(receiver).receive(whole);
  ASSERT_EQ(passed_on.size(), 1U);
  EXPECT_EQ(passed_on[0].part.values, whole.values);
  const MissingParts question{whole.order, passed_on[0].receiver, receiver, 1, {{whole.bucket, whole.hop + 1}}};
  const auto given_again = swarm.member(receiver).send_again(question);
  ASSERT_EQ(given_again.parts.size(), 1U);
  EXPECT_EQ(given_again.parts[0], passed_on[0]);
  const auto again = encode_values(WireFormat::kInt8, floats_of(swarm.member(receiver).sum()));
  EXPECT_NE(*again, whole.values) << "control: encoded again it is another";
}

TEST(OwnerReduction, HasNoMoreUnderWayThanItsWindow) {
  for (const std::size_t window : {1U, 3U}) {
    const ReductionPlan plan{SyncBackend::kOwner, WireFormat::kInt8, 4, 1024, window};
    ReductionSwarm swarm(plan, blobs_of(random_vectors(80, 4, 10'000)));
    EXPECT_EQ(swarm.wire().size(), 4 * window);
    std::mt19937_64 random(window);
    while (!swarm.wire().empty()) {
      std::map<Incarnation, std::size_t> from;
      for (const auto& [receiver, part] : swarm.wire()) from[part.member] += part.hop == 0 ? 1 : 0;
      for (const auto& [member, count] : from) ASSERT_LE(count, window);
      swarm.deliver(random() % swarm.wire().size());
    }
    EXPECT_TRUE(swarm.is_complete());
  }
}

}  // namespace
}  // namespace shoal::reduction_test
