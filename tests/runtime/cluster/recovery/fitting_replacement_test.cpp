// Who takes a slot where machines are unequal, or a stage does not fit all of them.
#include "runtime/cluster/recovery/fitting_replacement.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::fitting_replacement_test {
namespace {

MachineOffer paced(std::uint64_t milliseconds) { return {0, milliseconds * 1000, 0, 0, 0, 0}; }

FreeWorker worker(std::uint64_t process, const std::string& node, const MachineOffer& offer = {}) {
  return {{ProcessIncarnation{process}, node, offer}, node};
}

// Stages of two replicas that should have two; slots are numbered from 0 in each.
FittingQuestion asked_of(std::vector<ServedStage> stages, std::vector<FreeWorker> free) {
  FittingQuestion asked;
  asked.question.stages = static_cast<std::uint32_t>(stages.size());
  asked.question.replicas = 2;
  for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
    for (std::uint32_t slot = 0; slot < stages[stage].offers.size(); ++slot) {
      const std::string node = "n" + std::to_string(stage) + "." + std::to_string(slot);
      asked.question.taken.push_back({StageId{stage}, ReplicaId{slot}, node});
    }
  }
  asked.question.free = std::move(free);
  asked.stages = std::move(stages);
  return asked;
}

Placement at(std::uint32_t stage, std::uint32_t slot, std::uint64_t process) {
  return {StageId{stage}, ReplicaId{slot}, ProcessIncarnation{process}};
}

TEST(FittingReplacement, PassesByAStageThatFitsNobodyWhoIsFree) {
  auto asked = asked_of({{{1, 9000}, {{}}}, {{1, 2000}, {{}}}}, {worker(9, "d")});
  asked.question.free[0].worker.offer.memory_bytes = 4000;
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(1, 1, 9));
  EXPECT_EQ(plan_replacement(asked.question)->placement, at(0, 1, 9)) << "the control: without memory";
  asked.question.free[0].worker.offer.memory_bytes = 1000;
  EXPECT_FALSE(plan_fitting_replacement(asked));
  asked.question.free.push_back(worker(10, "e"));  // states nothing
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(0, 1, 10));
}

TEST(FittingReplacement, GivesNobodyAStageWhereItCouldNotTalkToTheOthers) {
  auto asked = asked_of({{{1, 1}, {{}}}, {{1, 1}, {{}}}}, {worker(9, "d")});
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(0, 1, 9)) << "the control";
  asked.question.free[0].out_of_reach = {StageId{0}};
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(1, 1, 9));
  asked.question.free[0].out_of_reach = {StageId{0}, StageId{1}};
  EXPECT_FALSE(plan_fitting_replacement(asked));
}

TEST(FittingReplacement, OfUnequalMachinesAFastOneGoesToTheWeakestStage) {
  const std::vector<MachineOffer> strong = {paced(10), paced(10)};
  const std::vector<MachineOffer> weak = {paced(90), paced(90)};
  auto asked = asked_of({{{}, strong}, {{}, weak}}, {worker(7, "e", paced(50)), worker(8, "f", paced(10))});
  EXPECT_FALSE(plan_fitting_replacement(asked)) << "no stage may have more";
  asked.question.replicas_max = 9;
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(1, 2, 8));
  EXPECT_EQ(plan_replacement(asked.question)->placement, at(0, 2, 7)) << "the control: without speeds";
  asked.stages[1].need.memory_bytes = 9000;
  for (FreeWorker& free : asked.question.free) free.worker.offer.memory_bytes = 100;
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(0, 2, 8)) << "the weakest one fits nobody";
}

TEST(FittingReplacement, AStageThatLacksOneComesFirstHoweverStrong) {
  auto asked = asked_of({{{}, {paced(10)}}, {{}, {paced(90), paced(90)}}}, {worker(8, "f", paced(30))});
  asked.question.replicas_max = 9;
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(0, 1, 8));
}

TEST(FittingReplacement, OfStagesThatLackEquallyManyTheWeakestComesFirst) {
  auto asked = asked_of({{{}, {paced(10)}}, {{}, {paced(90)}}}, {worker(8, "f", paced(30))});
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(1, 1, 8));
  EXPECT_EQ(plan_replacement(asked.question)->placement, at(0, 1, 8)) << "the control: without speeds";
  asked.stages[1].offers = {paced(11)};
  asked.question.free[0].worker.offer = paced(10);
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(0, 1, 8)) << "the control: machines are alike";
}

TEST(FittingReplacement, WhoeverServedTheSlotComesBackHoweverSlow) {
  auto asked = asked_of({{{}, {paced(10)}}, {{}, {paced(10), paced(10)}}},
                        {worker(7, "e", paced(90)), worker(8, "f", paced(10))});
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(0, 1, 8));
  asked.question.last_worker[{StageId{0}, ReplicaId{1}}] = "e";
  EXPECT_EQ(plan_fitting_replacement(asked)->placement, at(0, 1, 7));
}

TEST(FittingReplacement, EqualMachinesGetTheAnswerOfThePlainQuestion) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 300; ++trial) {
    const bool is_stated = random() % 2 == 0;
    const auto offer = [&] {
      return is_stated ? MachineOffer{10'000 + random() % 4000, 0, 0, 8000, 0, 0} : MachineOffer{};
    };
    std::vector<ServedStage> stages(1 + random() % 3);
    for (ServedStage& stage : stages) {
      stage.need = {2.0, 7000};
      for (std::size_t count = random() % 4; count > 0; --count) stage.offers.push_back(offer());
    }
    std::vector<FreeWorker> free;
    for (std::size_t count = random() % 4; count > 0; --count) {
      free.push_back(worker(10 + count, "w" + std::to_string(random() % 3), offer()));
    }
    auto asked = asked_of(std::move(stages), std::move(free));
    asked.question.replicas_max = static_cast<std::uint32_t>(random() % 5);
    const auto plain = plan_replacement(asked.question);
    const auto fitting = plan_fitting_replacement(asked);
    ASSERT_EQ(plain.has_value(), fitting.has_value());
    if (!plain) continue;
    EXPECT_EQ(plain->placement, fitting->placement);
    EXPECT_EQ(plain->reason, fitting->reason);
  }
}

}  // namespace
}  // namespace shoal::fitting_replacement_test
