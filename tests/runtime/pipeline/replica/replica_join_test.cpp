// A replica that joins while the others train, and the member that gives it its state (P-25 .. P-27).
#include <gtest/gtest.h>

#include "tests/support/member_bench.h"

namespace shoal::replica_join_test {
namespace {

using namespace std::chrono_literals;

constexpr Incarnation kJoiner{29};  // joins stage 1, as b0 and b1

std::unique_ptr<Bench> make_joiner(Incarnation donor = kB0) {
  ReplicaSetup setup = setup_of(kJoiner);
  setup.donor = donor;
  setup.donor_seen_at = JournalPosition{4};
  setup.tensor_names = {"fake.weight"};
  auto joiner = std::make_unique<Bench>(setup);
  for (const Incarnation replica : {kA0, kA1, kB0, kB1}) joiner->admit(replica);
  return joiner;
}

// Carries what one has said to the other since the last look.
template <class Body>
void carry(Bench& from, Bench& to) {
  for (const Body& body : from.take<Body>()) to.give(body);
}

// One microbatch of a step at b0, summed and committed; b0 is taken to reduce alone, as far as it knows.
Commit train_step(Bench& b0, std::uint32_t counter, std::uint64_t step) {
  for (std::uint32_t microbatch = 0; microbatch < kMicrobatches; ++microbatch) {
    b0.give(forward_to(kB0, microbatch, step));
  }
  b0.run_all();
  b0.give(Prepare{b0.order(counter, step), {}});
  b0.give(Reduce{b0.order(counter, step), {kB0}, 40});
  Commit commit = b0.commit(counter, step);
  commit.stages[1].digest = b0.take<Reduced>().back().digest;
  b0.journal(commit);
  return commit;
}

TEST(Joiner, CopiesAPeerAndFollowsItStepByStepToTheSameState) {
  auto b0 = make_member(kB0);
  train_step(*b0, 1, 0);
  auto joiner = make_joiner();
  EXPECT_TRUE(joiner->take<StageReady>().empty()) << "it has no state of its own";
  Commit first = joiner->commit(1, 0);
  joiner->journal(first);
  carry<FetchState>(*joiner, *b0);
  const auto images = b0->take<StateImage>();
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].step, 1U);
  EXPECT_EQ(b0->take<StageReady>().back().state_digest, b0->executor.state_digest()) << "what the joiner must come to";

  const Commit second = train_step(*b0, 2, 1);  // while the image is on its way
  joiner->journal(second);
  carry<StepSum>(*b0, *joiner);
  joiner->give(images[0]);
  EXPECT_EQ(joiner->core.version(), 2U);
  EXPECT_EQ(joiner->executor.state_digest(), b0->executor.state_digest());
  const StageReady ready = joiner->take<StageReady>().back();
  EXPECT_EQ(ready.version, 2U);
  EXPECT_EQ(ready.state_digest, b0->executor.state_digest());
  EXPECT_EQ(b0->take<StageReady>().back(), (StageReady{StageId{1}, kB0, {20}, 2, ready.state_digest}));

  carry<FetchState>(*joiner, *b0);  // "I hold version 2"
  joiner->admit(kJoiner, 2);
  b0->admit(kJoiner, 2);
  EXPECT_TRUE(joiner->core.is_member());
  train_step(*b0, 3, 2);
  EXPECT_TRUE(b0->take<StepSum>().empty()) << "a member is fed no more";
}

TEST(Joiner, ASkippedStepIsSkippedByTheJoinerToo) {
  auto b0 = make_member(kB0);
  auto joiner = make_joiner();
  carry<FetchState>(*joiner, *b0);
  carry<StateImage>(*b0, *joiner);
  Commit skipped = b0->commit(1);
  skipped.skip = SkipStep{"fake.weight", MicrobatchId{0}};
  b0->journal(skipped);
  joiner->journal(skipped);
  const std::uint64_t digest = joiner->executor.state_digest();
  carry<StepSum>(*b0, *joiner);
  EXPECT_EQ(joiner->core.version(), 1U);
  EXPECT_EQ(joiner->executor.state_digest(), digest);
}

TEST(Joiner, ASumThatIsNotTheCommittedOneEndsIt) {  // S-3
  auto b0 = make_member(kB0);
  auto joiner = make_joiner();
  carry<FetchState>(*joiner, *b0);
  carry<StateImage>(*b0, *joiner);
  const Commit commit = train_step(*b0, 1, 0);
  joiner->journal(commit);
  StepSum sum = b0->take<StepSum>().at(0);
  sum.values = make_values(DType::kInt64, {1, 1, 1, 2});
  joiner->give(sum);
  ASSERT_TRUE(joiner->ended);
  EXPECT_NE(joiner->ended->find("S-3"), std::string::npos);
}

TEST(Joiner, SaysThatItIsBehindWhenItMustCopyAgain) {
  auto b0 = make_member(kB0);
  auto joiner = make_joiner();
  carry<FetchState>(*joiner, *b0);
  carry<StateImage>(*b0, *joiner);
  carry<FetchState>(*joiner, *b0);
  joiner->sent.clear();
  for (std::uint64_t step = 0; step < 2; ++step) {
    joiner->journal(train_step(*b0, static_cast<std::uint32_t>(step + 1), step));
  }
  joiner->give(b0->take<StepSum>().at(1));  // the first one is lost
  EXPECT_EQ(joiner->take<StageReady>().at(0).version, 0U) << "so that the next commit waits for it";
  carry<FetchState>(*joiner, *b0);
  carry<StateImage>(*b0, *joiner);
  EXPECT_EQ(joiner->take<StageReady>().back().version, 2U);
}

TEST(Joiner, PassesOnHowFarItsStateHasComeToWhoeverWaits) {
  auto b0 = make_member(kB0);
  auto joiner = make_joiner();
  carry<FetchState>(*joiner, *b0);
  const StateProgress here{{}, 0, {}, kJoiner, kB0, false, 10, 100};
  joiner->give(here);
  const StateProgress told{{}, 0, StageId{1}, kJoiner, kB0, false, 10, 100};
  EXPECT_EQ(joiner->take<StateProgress>(), (std::vector{told, told})) << "its donor, and the supervisor";
  StateProgress other = here;
  other.donor = kB1;
  joiner->give(other);
  EXPECT_TRUE(joiner->take<StateProgress>().empty()) << "it did not ask that one";
  carry<StateImage>(*b0, *joiner);
  joiner->give(here);
  EXPECT_TRUE(joiner->take<StateProgress>().empty()) << "it is there";
}

TEST(Donor, GivesNoSecondImageWhileTheFirstArrives) {
  for (const bool arrives : {true, false}) {
    auto b0 = make_member(kB0);
    std::size_t images = 0;
    for (std::uint64_t second = 0; second < 100; ++second, b0->now += 1s) {
      b0->give(FetchState{kJoiner, 0, {"w"}, kB0, {}});
      if (arrives) b0->give(StateProgress{{}, 0, StageId{1}, kJoiner, kB0, false, second, 100});
      images += b0->take<StateImage>().size();
    }
    EXPECT_EQ(images, arrives ? 1U : 3U);
  }
}

// A commit may wait for the joiner, and then no step says it anew (a quorum).
TEST(Donor, SaysAgainWhichStateItsJoinerIsComparedWith) {
  auto b0 = make_member(kB0);
  const auto after_a_while = [&] {
    b0->now += kReadyRetry;
    b0->perform(b0->core.tick(b0->now));
    return b0->take<StageReady>();
  };
  EXPECT_TRUE(after_a_while().empty()) << "it feeds nobody";
  b0->give(FetchState{kJoiner, 0, {"w"}, kB0, {}});
  const auto said = b0->take<StageReady>();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(after_a_while(), said);
  b0->give(Prepare{b0->order(1, 0), {}});
  EXPECT_EQ(after_a_while(), said) << "prepared, its state is what it was";
  b0->perform(b0->core.tick(b0->now));
  EXPECT_TRUE(b0->take<StageReady>().empty()) << "not at every look";
  b0->admit(kJoiner);
  EXPECT_TRUE(after_a_while().empty()) << "the joiner is a member";
}

TEST(Joiner, TurnsToAnotherMemberWhenItsDonorIsRemoved) {
  auto b1 = make_member(kB1);
  auto joiner = make_joiner();
  joiner->sent.clear();
  joiner->journal(RemoveReplica{StageId{1}, kB0, "killed"});
  carry<FetchState>(*joiner, *b1);
  carry<StateImage>(*b1, *joiner);
  EXPECT_EQ(joiner->take<StageReady>().size(), 1U);
}

TEST(Joiner, EndsWhenTheRunGoesBackToACheckpoint) {
  auto joiner = make_joiner();
  joiner->give(JournalEntry{JournalPosition{++joiner->entries}, Branch{1}, Term{1},
                            AddReplica{StageId{0}, {}, Incarnation{50}, {}, 0}});
  EXPECT_TRUE(joiner->ended);
}

TEST(Donor, RefusesWhenItIsNoMemberOrOfAnotherBranch) {
  Bench stranger(setup_of(kB0));
  stranger.give(FetchState{kJoiner, 0, {"w"}, kB0, {}});
  EXPECT_EQ(stranger.take<StateUnavailable>().size(), 1U);
  auto b0 = make_member(kB0);
  b0->give(FetchState{kJoiner, 0, {"w"}, kB0, Branch{1}});
  EXPECT_EQ(b0->take<StateUnavailable>().size(), 1U);
  EXPECT_TRUE(b0->take<StateImage>().empty());
}

TEST(Donor, GivesItsStateInAnyPhaseAndGoesOnWithItsStep) {
  auto b0 = make_member(kB0);
  for (std::uint32_t microbatch = 0; microbatch < kMicrobatches; ++microbatch) b0->give(forward_to(kB0, microbatch));
  b0->run_all();
  b0->prepare(1);
  b0->reduce_alone(1);
  b0->give(FetchState{kJoiner, 0, {"w"}, kB0, {}});
  EXPECT_EQ(b0->take<StateImage>().at(0).image, b0->executor.state_image());
  EXPECT_EQ(b0->core.phase(), Phase::kReduced);
  b0->journal(b0->commit(1));
  EXPECT_FALSE(b0->ended);
  EXPECT_EQ(b0->take<StepSum>().at(0).values, make_values(DType::kInt64, {1, 1, 1, 1}));
}

TEST(Donor, SavesTheStateItStillHoldsWhenAskedTo) {
  auto b0 = make_member(kB0);
  commit_steps(*b0, 2);
  b0->sent.clear();
  b0->give(SaveState{{}, 1, StageId{1}, kB0});
  EXPECT_TRUE(b0->take<SaveShard>().empty()) << "it holds a later one";
  b0->give(SaveState{{}, 2, StageId{1}, kB0});
  const auto shards = b0->take<SaveShard>();
  ASSERT_EQ(shards.size(), 1U);
  EXPECT_EQ(shards[0].step, 2U);
  EXPECT_EQ(shards[0].image, b0->executor.state_image());
}

// The router keeps only the newest entries: the rest is a view, and the joiner knows whom to ask all the same.
TEST(Joiner, ThatIsGivenAViewInsteadOfOldEntriesComesToTheSameState) {
  auto b0 = make_member(kB0);
  train_step(*b0, 1, 0);
  View past;
  const auto read = [&](JournalBody body) {
    past.apply({JournalPosition{past.position().value + 1}, {}, Term{1}, std::move(body)});
  };
  for (const Incarnation replica : {kA0, kA1, kB0, kB1}) {
    read(AddReplica{StageId{stage_of(replica)}, {}, replica, ProcessIncarnation{replica.value}, 0});
  }
  read(b0->commit(1, 0));
  ReplicaSetup setup = setup_of(kJoiner);
  setup.donor = kB0;
  setup.tensor_names = {"fake.weight"};
  Bench joiner(setup);
  joiner.perform(joiner.core.begin_at(past, joiner.now));
  joiner.entries = past.position().value;
  EXPECT_EQ(joiner.core.position(), past.position());
  joiner.perform(joiner.core.tick(joiner.now));
  carry<FetchState>(joiner, *b0);
  carry<StateImage>(*b0, joiner);
  EXPECT_EQ(joiner.core.version(), 1U);
  EXPECT_EQ(joiner.executor.state_digest(), b0->executor.state_digest());
}

// Its process was away for so long that it is no member any more, or should be none.
TEST(Joiner, OrMemberThatTheJournalWentOnWithoutEnds) {
  const auto past_with = [](std::vector<Incarnation> replicas) {
    View past;
    for (const Incarnation replica : replicas) {
      past.apply({JournalPosition{past.position().value + 1},
                  {},
                  Term{1},
                  AddReplica{StageId{stage_of(replica)}, {}, replica, ProcessIncarnation{replica.value}, 0}});
    }
    while (past.position().value < 20) {
      past.apply({JournalPosition{past.position().value + 1},
                  {},
                  Term{1},
                  AppointGroup{StageId{0}, Incarnation{past.position().value + 100}}});
    }
    return past;
  };
  auto b0 = make_member(kB0);
  b0->perform(b0->core.begin_at(past_with({kA0}), b0->now));
  ASSERT_TRUE(b0->ended);
  EXPECT_NE(b0->ended->find("went on without"), std::string::npos) << *b0->ended;
  ReplicaSetup setup = setup_of(kJoiner);
  setup.donor = kB0;
  Bench joiner(setup);
  joiner.perform(joiner.core.begin_at(past_with({kA0, kB0, kJoiner}), joiner.now));
  EXPECT_TRUE(joiner.ended) << "it was added, and has not read it";
}

}  // namespace
}  // namespace shoal::replica_join_test
