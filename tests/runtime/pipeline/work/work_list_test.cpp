// The list of a step's or an evaluation's microbatches against one that is walked through whole for everything.
#include "runtime/pipeline/work/work_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "runtime/base/ensure.h"

namespace shoal::work_list_test {
namespace {

using testing::ElementsAre;

MicrobatchId id(std::uint32_t value) { return MicrobatchId{value}; }

void send(WorkList& list, MicrobatchId microbatch, const std::vector<Incarnation>& path) {
  list.plan(microbatch, path, {});
  list.sent(microbatch, 0, Instant{});
}

std::vector<std::uint32_t> offered(WorkList& list, std::size_t sorts, const std::set<std::uint32_t>& refused) {
  std::vector<std::uint32_t> seen;
  list.offer(sorts, [&](MicrobatchId microbatch) {
    seen.push_back(microbatch.value);
    if (refused.contains(microbatch.value)) return Offered::kRefused;
    send(list, microbatch, {Incarnation{1}});
    return Offered::kTaken;
  });
  return seen;
}

TEST(WorkList, OffersEachSortUntilOneOfItIsRefused) {
  WorkList list(Purpose::kTrain, 10);
  EXPECT_THAT(offered(list, 3, {4}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 8, 9)) << "7 is of the sort of 4";
  EXPECT_THAT(offered(list, 3, {}), ElementsAre(4, 7));
  EXPECT_EQ(list.waiting(), 0U);
  WorkList other(Purpose::kTrain, 5);
  EXPECT_THAT(offered(other, 1, {2}), ElementsAre(0, 1, 2));
  EXPECT_THAT(offered(other, 100, {2}), ElementsAre(2, 3, 4)) << "each is its own sort";
  EXPECT_THAT(offered(other, 1, {}), ElementsAre(2));
}

TEST(WorkList, OffersNoMoreWhenNothingIsTaken) {
  WorkList list(Purpose::kEvaluate, 3);
  int count = 0;
  list.offer(3, [&](MicrobatchId) { return ++count, Offered::kNoMore; });
  EXPECT_EQ(count, 1);
  EXPECT_EQ(list.waiting(), 3U);
}

TEST(WorkList, KeepsThePathOfAnAnswerThatMayBeTakenBack) {
  for (const Purpose purpose : {Purpose::kTrain, Purpose::kEvaluate}) {
    WorkList list(purpose, 1);
    send(list, id(0), {Incarnation{1}, Incarnation{2}});
    list.answered(id(0), 3, 4);
    EXPECT_TRUE(list.is_settled());
    EXPECT_TRUE(list.held().at(0).empty());
    if (purpose == Purpose::kEvaluate) {
      EXPECT_TRUE(list.at(id(0)).path.empty());
      EXPECT_THROW(list.unanswered(id(0), Instant{}), Bug);
      continue;
    }
    list.unanswered(id(0), Instant{});
    EXPECT_FALSE(list.is_settled());
    EXPECT_EQ(list.held().at(1), (WorkList::Held{{Incarnation{2}, 1}}));
  }
}

// Counts anew what the list keeps.
void expect_books(const WorkList& list) {
  std::set<MicrobatchId> in_flight;
  std::vector<WorkList::Held> held(2);
  std::size_t settled = 0;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    const WorkItem& item = list.at(id(i));
    settled += item.state == WorkState::kAnswered || item.state == WorkState::kLeftOut ? 1 : 0;
    if (item.state != WorkState::kInFlight) continue;
    in_flight.insert(id(i));
    for (std::size_t stage = 0; stage < 2; ++stage) ++held[stage][item.path[stage]];
  }
  EXPECT_EQ(list.in_flight(), in_flight);
  EXPECT_EQ(list.settled(), settled);
  EXPECT_EQ(list.waiting(), list.size() - settled - in_flight.size());
  for (std::size_t stage = 0; stage < list.held().size(); ++stage) EXPECT_EQ(list.held()[stage], held[stage]);
}

TEST(WorkList, KeepsItsBooksWhateverHappens) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto draw = [&random](std::uint64_t below) { return random() % below; };
  for (int trial = 0; trial < 50; ++trial) {
    WorkList list(Purpose::kTrain, 1 + draw(30));
    const auto replica = [&](std::uint64_t stage) { return Incarnation{1 + 10 * stage + draw(3)}; };
    for (int change = 0; change < 200; ++change) {
      const MicrobatchId microbatch = id(static_cast<std::uint32_t>(draw(list.size())));
      const WorkState state = list.at(microbatch).state;
      switch (draw(5)) {
        case 0: {
          std::optional<MicrobatchId> before;
          list.offer(1 + draw(4), [&](MicrobatchId next) {
            EXPECT_EQ(list.at(next).state, WorkState::kWaiting);
            EXPECT_TRUE(!before || *before < next);
            before = next;
            if (draw(2) == 0) return Offered::kRefused;
            send(list, next, {replica(0), replica(1)});
            return Offered::kTaken;
          });
          break;
        }
        case 1:
          if (state == WorkState::kInFlight) list.answered(microbatch, 1, 1);
          break;
        case 2:
          if (state == WorkState::kAnswered) list.unanswered(microbatch, Instant{});
          break;
        case 3:
          if (state != WorkState::kLeftOut && draw(10) == 0) list.left_out(microbatch);
          break;
        default: {
          const auto stage = static_cast<std::uint32_t>(draw(2));
          list.replace(StageId{stage}, replica(stage), [&](MicrobatchId) { return std::optional(replica(stage)); });
        }
      }
      expect_books(list);
    }
  }
}

TEST(WorkList, LooksAtOneMicrobatchForWhatHappensToIt) {
  constexpr std::uint32_t kCount = 100'000;
  WorkList list(Purpose::kEvaluate, kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    (void)offered(list, 1, {i + 1});
    list.answered(id(i), 1, 1);
  }
  EXPECT_TRUE(list.is_settled());
  EXPECT_LT(list.looks(), 12ULL * kCount);
}

}  // namespace
}  // namespace shoal::work_list_test
