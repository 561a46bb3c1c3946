// The state that a replica starts with, by where it comes from. Copies step by step:
// tests/runtime/sync/state_copy_test.
#include "runtime/pipeline/replica/state/state_taken.h"

#include <gtest/gtest.h>

#include "tests/runtime/pipeline/replica/part_bench.h"
#include "tests/support/bounds/knobs.h"

namespace shoal::state_taken_test {
namespace {

using namespace std::chrono_literals;

struct Bed {
  explicit Bed(const ReplicaSetup& setup, std::optional<TensorBlob> image = std::nullopt)
      : bench(setup), taken(std::move(image), bench.turn.now()) {
    bench.standing.membership = Membership::kLoading;
    taken.begin(bench.turn);
    bench.collect();
  }
  // As the frame does: what is true first.
  template <class Heard>
  void tell(const Heard& heard) {
    if constexpr (requires { bench.standing.hear(heard); }) bench.standing.hear(heard);
    bench.tell(taken, heard);
  }
  void load(std::uint64_t digest) {
    bench.complete(taken, Loaded{digest});
    for (const StateLoaded& loaded : bench.take_facts<StateLoaded>()) tell(loaded);
  }
  void pass(Duration time) {
    bench.pass(time);
    tell(TimePassed{});
  }

  PartBench bench;
  StateTaken taken;
};

TensorBlob image() { return FakeExecutor::input_of(1, StepId{0}, MicrobatchId{0}); }

ReplicaSetup from_checkpoint() {
  ReplicaSetup setup = setup_of(kB0);
  setup.from_checkpoint = true;
  setup.version = 5;
  setup.tensor_names = {"w"};
  return setup;
}

TEST(StateTaken, LoadsWhatItsExecutorWasMadeWithOrAGivenImage) {
  Bed own(setup_of(kB0));
  ASSERT_NE(own.bench.job_as<LoadJob>(), nullptr);
  EXPECT_FALSE(own.bench.job_as<LoadJob>()->image);
  Bed given(setup_of(kB0), image());
  ASSERT_NE(given.bench.job_as<LoadJob>(), nullptr);
  EXPECT_EQ(given.bench.job_as<LoadJob>()->image, image());
}

TEST(StateTaken, IsReadyWhenItIsLoadedAndSaysSoAgain) {
  Bed bed(setup_of(kB0));
  bed.load(9);
  EXPECT_EQ(bed.bench.standing.membership, Membership::kReady);
  EXPECT_EQ(bed.bench.take_letters<StageReady>().at(0).state_digest, 9U);
  bed.pass(kReadyRetry - 1ms);
  EXPECT_TRUE(bed.bench.take_letters<StageReady>().empty());
  bed.pass(1ms);
  EXPECT_EQ(bed.bench.take_letters<StageReady>().size(), 1U);
}

TEST(StateTaken, AsksStorageAgainUntilTheStateOfItsVersionComes) {
  Bed bed(from_checkpoint());
  EXPECT_EQ(bed.bench.take_letters<FetchState>().at(0).step, 5U);
  bed.pass(kStateRetry);
  EXPECT_EQ(bed.bench.take_letters<FetchState>().size(), 1U);
  bed.tell(StateImage{kB0, 4, image(), {}, 4, 100});
  EXPECT_FALSE(bed.bench.job) << "of another version";
  bed.tell(StateImage{kB0, 5, image(), {}, 4, 100});
  EXPECT_NE(bed.bench.job_as<LoadJob>(), nullptr);
  const auto expected = bed.bench.take_facts<StateExpected>();
  ASSERT_EQ(expected.size(), 1U);
  EXPECT_EQ(expected[0].state.tokens_total, 100U);
  EXPECT_EQ(expected[0].state.version, 5U);
}

TEST(StateTaken, AsksForNothingWhileItIsSeenToCome) {
  Bed bed(from_checkpoint());
  (void)bed.bench.take_letters<FetchState>();
  bed.pass(kStateRetry - 1ms);
  StateProgress progress;
  progress.step = 5;
  progress.replica = kB0;
  progress.is_shard = true;
  bed.tell(progress);
  EXPECT_TRUE(bed.bench.letters.empty()) << "of what it gives";
  progress.is_shard = false;
  bed.tell(progress);
  ASSERT_EQ(bed.bench.letters.size(), 2U) << "storage and the supervisor hear of it";
  bed.pass(1ms);
  EXPECT_TRUE(bed.bench.take_letters<FetchState>().empty());
}

TEST(StateTaken, EndsWhereStorageCannotGiveItOrItIsRefused) {
  Bed unavailable(from_checkpoint());
  unavailable.tell(StateUnavailable{kB0, 5, "no such step", {}});
  EXPECT_TRUE(unavailable.bench.ended);
  Bed refused(setup_of(kB0));
  refused.bench.complete(refused.taken, LoadRefused{"test"});
  EXPECT_TRUE(refused.bench.ended);
  Bed of_another(from_checkpoint());
  of_another.tell(StateUnavailable{kB1, 5, "no such step", {}});
  EXPECT_FALSE(of_another.bench.ended);
}

TEST(StateTaken, IsAdmittedAtTheVersionThatItHolds) {
  for (const std::uint64_t version : {0, 1}) {
    Bed bed(setup_of(kB0));
    bed.load(9);
    bed.tell(AddReplica{StageId{1}, {}, kB0, ProcessIncarnation{1}, version});
    EXPECT_EQ(bed.bench.take_facts<ReplicaAdmitted>().size(), version == 0 ? 1U : 0U);
    EXPECT_EQ(bed.bench.ended.has_value(), version != 0);
  }
}

TEST(StateTaken, P28EndsWhenItIsRemoved) {
  Bed bed(setup_of(kB0));
  bed.load(9);
  bed.tell(RemoveReplica{StageId{1}, kB1, "test"});
  EXPECT_FALSE(bed.bench.ended);
  bed.tell(RemoveReplica{StageId{1}, kB0, "test"});
  EXPECT_TRUE(bed.bench.ended);
}

TEST(StateTaken, SaysWhatAMemberHoldsAtOnceOrWhenItIsDue) {
  Bed bed(setup_of(kB0));
  bed.load(9);
  bed.bench.standing.membership = Membership::kMember;
  bed.bench.letters.clear();
  bed.tell(ReadyDue{});
  EXPECT_TRUE(bed.bench.letters.empty()) << "it was said a moment ago";
  bed.tell(ReadyWanted{});
  EXPECT_EQ(bed.bench.take_letters<StageReady>().size(), 1U);
  bed.pass(kReadyRetry);
  EXPECT_TRUE(bed.bench.letters.empty()) << "nobody wants to know";
  bed.tell(ReadyDue{});
  EXPECT_EQ(bed.bench.take_letters<StageReady>().size(), 1U);
}

StateImage stored_piece(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total = 100) {
  TensorBlob piece{DType::kUint8, {static_cast<std::int64_t>(bytes)}, std::make_shared<AlignedBuffer>(bytes)};
  return {kB0, 5, std::move(piece), {}, 4, 100, offset, total};
}

// Counts the time of a further piece that has come in part, too.
TEST(StateTaken, TellsForHowLongItsPiecesWereOnTheirWay) {
  Bed bed(from_checkpoint());
  const auto comes = [&bed](std::uint64_t offset, double on_its_way_ms) {
    StateImage piece = stored_piece(offset, 40);
    piece.on_its_way_ms = on_its_way_ms;
    bed.pass(2s);
    bed.tell(piece);
    bed.bench.complete(bed.taken, PieceLoaded{});
    const auto told = bed.bench.take_letters<StateProgress>();
    return told.empty() ? -1 : told.back().on_its_way_ms;
  };
  EXPECT_EQ(comes(0, 30), 30);
  StateProgress more;
  more.step = 5;
  more.replica = kB0;
  more.bytes = 50;
  more.on_its_way_ms = 8;
  bed.tell(more);
  EXPECT_EQ(bed.bench.take_letters<StateProgress>().back().on_its_way_ms, 38);
  EXPECT_EQ(comes(40, 12), 42);
  bed.tell(more);
  EXPECT_EQ(bed.bench.take_letters<StateProgress>().back().on_its_way_ms, 8) << "of an image that begins again";
}

TEST(StateTaken, P26bLoadsAStoredStatePieceByPiece) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 2);
  Bed bed(from_checkpoint());
  (void)bed.bench.take_letters<FetchState>();
  bed.tell(stored_piece(40, 40));
  EXPECT_FALSE(bed.bench.job) << "the first one is to come before";
  bed.tell(stored_piece(0, 40));
  ASSERT_NE(bed.bench.job_as<LoadPieceJob>(), nullptr);
  EXPECT_TRUE(bed.bench.take_facts<StateExpected>().empty()) << "it is not there yet";
  bed.bench.complete(bed.taken, PieceLoaded{});
  auto questions = bed.bench.take_letters<FetchState>();
  ASSERT_EQ(questions.size(), 2U);
  EXPECT_EQ(questions[0], (FetchState{kB0, 5, {"w"}, {}, {}, 40, 40}));
  EXPECT_EQ(questions[1].offset, 80U);
  EXPECT_FALSE(bed.bench.take_letters<StateProgress>().empty()) << "storage and the supervisor hear of it";
  bed.tell(stored_piece(80, 20));
  EXPECT_FALSE(bed.bench.job) << "out of turn";
  bed.tell(stored_piece(40, 40));
  bed.bench.complete(bed.taken, PieceLoaded{});
  questions = bed.bench.take_letters<FetchState>();
  ASSERT_EQ(questions.size(), 1U) << "the one that came before its turn";
  EXPECT_EQ(questions[0].offset, 80U);
  bed.pass(kStateRetry - 1ms);
  EXPECT_TRUE(bed.bench.take_letters<FetchState>().empty());
  bed.pass(1ms);
  questions = bed.bench.take_letters<FetchState>();
  ASSERT_EQ(questions.size(), 1U) << "it is lost";
  EXPECT_EQ(questions[0].offset, 80U);
  bed.tell(stored_piece(80, 20));
  ASSERT_NE(bed.bench.job_as<LoadPieceJob>(), nullptr);
  EXPECT_EQ(bed.bench.take_facts<StateExpected>().size(), 1U);
  bed.load(9);
  EXPECT_EQ(bed.bench.take_letters<StageReady>().size(), 1U);
}

TEST(StateTaken, P26bAPieceThatIsRefusedEndsIt) {
  Bed bed(from_checkpoint());
  bed.tell(stored_piece(0, 40));
  bed.bench.complete(bed.taken, LoadRefused{"test"});
  EXPECT_TRUE(bed.bench.ended);
}

}  // namespace
}  // namespace shoal::state_taken_test
