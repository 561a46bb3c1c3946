// Every tensor in one fragment; every round contributed to once and due once; the same for whoever asks.
#include "runtime/journal/round_plan.h"
#include "tests/runtime/sync/diloco_config.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace shoal::round_plan_test {
namespace {

// A stage's tensors and their names, in the order of names.
struct Stage {
  std::vector<std::string> names;
  std::vector<StageTensor> tensors;
};

// Blocks [first, end) of a GPT-2.
Stage stage(int first, int end, bool has_embedding, bool has_head) {
  std::map<std::string, StageTensor> by_name;
  for (int layer = first; layer < end; ++layer) {
    const std::string block = "h." + std::to_string(layer) + ".";
    by_name[block + "attn.c_attn.bias"] = {layer, 30};
    by_name[block + "attn.c_attn.weight"] = {layer, 300};
    by_name[block + "mlp.c_fc.weight"] = {layer, 400};
  }
  if (has_embedding) by_name["wpe.weight"] = {std::nullopt, 160};
  if (has_embedding) by_name["wte.weight"] = {std::nullopt, 500};
  if (has_head) by_name["lm_head.weight"] = {std::nullopt, 500};
  if (has_head) by_name["ln_f.bias"] = {std::nullopt, 10};
  if (has_head) by_name["ln_f.weight"] = {std::nullopt, 10};
  Stage made;
  for (const auto& [name, tensor] : by_name) {
    made.names.push_back(name);
    made.tensors.push_back(tensor);
  }
  return made;
}

std::vector<Fragment> deal(const Stage& stage, std::uint32_t count, FragmentPattern pattern) {
  return deal_fragments(stage.tensors, count, pattern);
}

std::set<std::string> names_of(const Stage& stage, const Fragment& fragment) {
  std::set<std::string> names;
  for (const std::size_t tensor : fragment.tensors) names.insert(stage.names[tensor]);
  return names;
}

// Returns the fragments that hold tensors of a layer, by layer.
std::map<std::string, std::set<std::size_t>> fragments_by_layer(const Stage& tensors,
                                                                const std::vector<Fragment>& fragments) {
  std::map<std::string, std::set<std::size_t>> layers;
  for (std::size_t at = 0; at < fragments.size(); ++at) {
    for (const std::string& name : names_of(tensors, fragments[at])) {
      if (name.starts_with("h.")) layers[name.substr(0, name.find('.', 2))].insert(at);
    }
  }
  return layers;
}

// Nothing when all is well.
std::string fault_of(const Stage& stage, const std::vector<Fragment>& fragments) {
  const std::vector<StageTensor>& tensors = stage.tensors;
  std::vector<int> seen(tensors.size());
  for (const Fragment& fragment : fragments) {
    std::uint64_t count = 0;
    for (const std::size_t tensor : fragment.tensors) {
      seen[tensor] += 1;
      count += tensors[tensor].element_count;
    }
    if (count != fragment.element_count) return "a wrong element count";
    if (!std::is_sorted(fragment.tensors.begin(), fragment.tensors.end())) return "tensors out of order";
    if (fragment.tensors.empty() && tensors.size() >= fragments.size()) return "an empty fragment";
  }
  return std::ranges::all_of(seen, [](int times) { return times == 1; }) ? "" : "a tensor not exactly once";
}

TEST(Fragments, DealBlocksInRunsOrOneByOne) {
  const auto tensors = stage(0, 4, false, false);
  using Layers = std::map<std::string, std::set<std::size_t>>;
  EXPECT_EQ(fragments_by_layer(tensors, deal(tensors, 2, FragmentPattern::kSequential)),
            (Layers{{"h.0", {0}}, {"h.1", {0}}, {"h.2", {1}}, {"h.3", {1}}}));
  EXPECT_EQ(fragments_by_layer(tensors, deal(tensors, 2, FragmentPattern::kStrided)),
            (Layers{{"h.0", {0}}, {"h.1", {1}}, {"h.2", {0}}, {"h.3", {1}}}));
}

TEST(Fragments, DealBlocksInTheOrderOfTheirNumbersNotOfTheirNames) {
  const auto tensors = stage(8, 12, false, false);  // by name h.10 and h.11 come before h.8
  EXPECT_EQ(names_of(tensors, deal(tensors, 2, FragmentPattern::kSequential)[0]).count("h.9.mlp.c_fc.weight"), 1U);
}

TEST(Fragments, PackEmbeddingHeadAndNormsWhereLeastIs) {
  const auto tensors = stage(0, 3, true, true);  // strided: blocks 0 and 2 against block 1
  const auto fragments = deal(tensors, 2, FragmentPattern::kStrided);
  const auto second = names_of(tensors, fragments[1]);
  EXPECT_TRUE(second.contains("lm_head.weight"));
  EXPECT_EQ(fragments[0].element_count + fragments[1].element_count, 3370U);
  const auto [least, most] = std::minmax(fragments[0].element_count, fragments[1].element_count);
  EXPECT_LE(most - least, 500U) << "never further apart than the largest tensor that was packed";
}

TEST(Fragments, OfAStageWithFewerBlocksThanFragmentsAreNotEmpty) {
  const auto tensors = stage(5, 6, false, false);
  const auto fragments = deal(tensors, 3, FragmentPattern::kSequential);
  EXPECT_EQ(fault_of(tensors, fragments), "");
  EXPECT_EQ(fragments[0].element_count, 400U);
}

TEST(Fragments, HoldEveryTensorOnceWhateverTheStage) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](int end) { return std::uniform_int_distribution<int>(0, end - 1)(random); };
  for (int trial = 0; trial < 300; ++trial) {
    const int first = below(12);
    const auto tensors = stage(first, first + 1 + below(8), below(2) == 0, below(2) == 0);
    const auto count = static_cast<std::uint32_t>(1 + below(9));
    const auto pattern = below(2) == 0 ? FragmentPattern::kSequential : FragmentPattern::kStrided;
    auto fragments = deal(tensors, count, pattern);
    ASSERT_EQ(fragments.size(), count);
    ASSERT_EQ(fault_of(tensors, fragments), "");
    ASSERT_EQ(fragments, deal(tensors, count, pattern)) << "the same for every replica";
    if (count == 1) continue;
    auto& full = fragments[fragments[0].tensors.empty() ? 1 : 0];  // the control: one tensor left out
    full.element_count -= tensors.tensors[full.tensors.back()].element_count;
    full.tensors.pop_back();
    ASSERT_EQ(fault_of(tensors, fragments).empty(), false);
  }
}

using Rounds = std::vector<RoundId>;

TEST(RoundSchedule, OneFragmentEndsItsRoundEveryHSteps) {
  const RoundSchedule schedule(diloco(5, 1));
  for (std::uint64_t version = 0; version <= 20; ++version) {
    const Rounds expected = version > 0 && version % 5 == 0 ? Rounds{{0, version / 5}} : Rounds{};
    EXPECT_EQ(schedule.contributions_at(version), expected) << version;
    EXPECT_EQ(schedule.due_at(version), expected) << version;
    EXPECT_EQ(schedule.in_flight_after(version), Rounds{}) << version;
  }
}

TEST(RoundSchedule, FragmentsTakeTurnsAndMayOverlapInnerSteps) {
  const RoundSchedule schedule(diloco(5, 2, 2));
  EXPECT_EQ(schedule.contributions_at(3), (Rounds{{0, 1}}));
  EXPECT_EQ(schedule.contributions_at(5), (Rounds{{1, 1}}));
  EXPECT_EQ(schedule.contributions_at(8), (Rounds{{0, 2}}));
  EXPECT_EQ(schedule.due_at(3), Rounds{});
  EXPECT_EQ(schedule.due_at(5), (Rounds{{0, 1}}));
  EXPECT_EQ(schedule.due_at(7), (Rounds{{1, 1}}));
  EXPECT_EQ(schedule.in_flight_after(4), (Rounds{{0, 1}}));
  EXPECT_EQ(schedule.in_flight_after(5), (Rounds{{1, 1}}));
  EXPECT_EQ(schedule.in_flight_after(7), Rounds{});
}

TEST(RoundSchedule, DelayedAndEagerRoundsAreDueAtTheNextContribution) {
  for (const OuterUpdate update : {OuterUpdate::kDelayed, OuterUpdate::kEager}) {
    const RoundSchedule schedule(diloco(4, 2, 0, update));
    EXPECT_EQ(schedule.contributions_at(2), (Rounds{{0, 1}}));
    EXPECT_EQ(schedule.due_at(2), (Rounds{{0, 0}})) << "there is no round before the first one";
    EXPECT_EQ(schedule.due_at(4), (Rounds{{1, 0}}));
    EXPECT_EQ(schedule.due_at(6), (Rounds{{0, 1}}));
    EXPECT_EQ(schedule.in_flight_after(4), (Rounds{{0, 1}, {1, 1}}));
    EXPECT_EQ(schedule.due_version({1, 3}), 16U);
  }
}

TEST(RoundSchedule, EveryStepHasNoRounds) {
  SyncConfig sync = diloco(1, 1);
  sync.mode = SyncMode::kEveryStep;
  EXPECT_EQ(RoundSchedule(sync).contributions_at(1), Rounds{});
  EXPECT_EQ(RoundSchedule(sync).due_at(1), Rounds{});
}

TEST(RoundSchedule, EachRoundIsContributedToOnceAndDueOnceInTurn) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t period = 1 + random() % 12;
    const auto update = static_cast<OuterUpdate>(random() % 3);
    const bool waits = update == OuterUpdate::kWait;
    const SyncConfig sync = diloco(period, 1 + static_cast<int>(random() % 5), waits ? random() % period : 0, update);
    const RoundSchedule schedule(sync);
    std::map<std::uint32_t, std::uint64_t> contributed;
    std::map<std::uint32_t, std::uint64_t> applied;
    std::map<std::uint32_t, std::uint64_t> applied_before;  // at earlier versions
    std::map<std::uint64_t, std::uint64_t> fed_back;        // newest round of each chain
    for (std::uint64_t version = 0; version < 5 * period; ++version) {
      for (const auto& [fragment, round] : schedule.contributions_at(version)) {
        ASSERT_EQ(round, ++contributed[fragment]);
        ASSERT_EQ(schedule.contribution_version({fragment, round}), version);
        ASSERT_GE(version, 1U);
        // The chain's round before is applied, and this is the first contribution since.
        const std::uint64_t chain = schedule.feedback_chain({fragment, round});
        ASSERT_EQ(fed_back[chain], applied_before[fragment]);
        fed_back[chain] = round;
      }
      for (const auto& [fragment, round] : schedule.due_at(version)) {
        if (round == 0) continue;
        ASSERT_EQ(round, ++applied[fragment]);
        ASSERT_EQ(schedule.due_version({fragment, round}), version);
      }
      applied_before = applied;
      Rounds in_flight;
      for (const auto& [fragment, round] : contributed) {
        ASSERT_LE(round - applied[fragment], 1U);
        if (round > applied[fragment]) in_flight.push_back({fragment, round});
      }
      ASSERT_EQ(schedule.in_flight_after(version), in_flight);
    }
    for (std::uint32_t fragment = 0; fragment < schedule.fragment_count(); ++fragment) {
      ASSERT_GE(contributed[fragment], 4U);
    }
  }
}

}  // namespace
}  // namespace shoal::round_plan_test
