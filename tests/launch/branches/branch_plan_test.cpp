// Tests what a branch may set otherwise, and where it may begin.
#include "launch/branches/branch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/branches/branch_keys.h"
#include "runtime/base/config_file.h"

namespace shoal::branch_plan_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Config config_with(const std::vector<std::string>& sets) {
  const auto config = load_config({{}, {}, sets});
  EXPECT_TRUE(config.ok()) << config.failure().message;
  return *config;
}

std::string refusal(const std::vector<std::string>& sets, bool is_branch) {
  const auto checked = check_changes(Config(config_with({})), config_with(sets), is_branch, "FILE");
  if (checked.ok()) return "";
  EXPECT_EQ(checked.failure().error, Error::kUsage);
  return checked.failure().message;
}

TEST(BranchKeys, EveryKeyIsFreeOrOfABranchOrStaysForAReason) {
  std::vector<std::string> on_branch;
  for (const ConfigKey& key : config_keys()) {
    const KeyRule rule = rule_of(key);
    EXPECT_EQ(rule.why.empty(), rule.freedom != KeyFreedom::kNever) << key.path();
    EXPECT_EQ(rule.freedom == KeyFreedom::kFree, key.resume == ResumeRule::kMayChange) << key.path();
    if (rule.freedom == KeyFreedom::kOnABranch) on_branch.push_back(key.path());
  }
  EXPECT_THAT(on_branch,
              testing::ElementsAre(
                  "model.precision", "data.corpus", "data.validation_fraction", "pipeline.activations", "optim.lr",
                  "optim.min_lr", "optim.warmup_steps", "optim.decay_steps", "optim.schedule", "optim.betas",
                  "optim.eps", "optim.weight_decay", "optim.clip_norm", "sync.reduction", "sync.allow_mixed_kernels",
                  "sync.H", "sync.outer_lr", "sync.outer_momentum", "sync.outer_warmup", "sync.fragments",
                  "sync.pattern", "sync.overlap", "sync.mix", "sync.wire", "sync.error_feedback", "sync.backend"));
}

TEST(BranchKeys, ChangesHaveTheirOldAndNewValues) {
  const Config was = config_with({});
  EXPECT_TRUE(changes_between(was, was).empty());
  const auto changes = changes_between(was, config_with({"optim.lr=0.5", "data.corpus=kjv"}));
  EXPECT_EQ(changes, (std::vector<KeyChange>{{"data.corpus", "\"austen\"", "\"kjv\""}, {"optim.lr", "0.001", "0.5"}}));
}

TEST(BranchKeys, AnotherTextIsOneOfAnotherName) {
  const Config was = config_with({});
  EXPECT_TRUE(names_text(changes_between(was, config_with({"optim.lr=0.5", "data.corpus=kjv"}))));
  EXPECT_FALSE(names_text(changes_between(was, config_with({"optim.lr=0.5", "data.validation_fraction=0.2"}))));
}

TEST(BranchPlan, WithoutABranchTheRefusalSaysHow) {
  EXPECT_EQ(refusal({"pipeline.stages=1"}, false), "");
  EXPECT_THAT(refusal({"optim.lr=0.5"}, false), AllOf(HasSubstr("optim.lr may change on a branch"),
                                                      HasSubstr("--branch NAME"), Not(HasSubstr("new run"))));
  EXPECT_EQ(refusal({"optim.lr=0.5", "sync.reduction=exact"}, true), "");
  EXPECT_THAT(refusal({"model.precision=bf16"}, false), HasSubstr("model.precision may change on a branch"));
  EXPECT_EQ(refusal({"model.precision=bf16"}, true), "");
}

TEST(BranchPlan, WhatStaysSaysWhy) {
  for (const bool is_branch : {false, true}) {
    EXPECT_THAT(refusal({"model.layers=6", "optim.lr=0.5"}, is_branch),
                AllOf(HasSubstr("model.layers (the saved weights"), HasSubstr("FILE"), HasSubstr("start a new run")));
    EXPECT_THAT(refusal({"optim.kind=sgd"}, is_branch), HasSubstr("optim.kind (the saved averages"));
    EXPECT_THAT(refusal({"sync.mode=diloco"}, is_branch), HasSubstr("sync.mode (a checkpoint of rounds"));
  }
  EXPECT_THAT(refusal({"model.layers=6", "optim.lr=0.5"}, false), HasSubstr("--branch NAME"));
  EXPECT_THAT(refusal({"model.layers=6", "optim.lr=0.5"}, true), Not(HasSubstr("--branch NAME")));
}

const std::string kNetwork = "sync.private_network=10.0.0.0/8";

// Says how a run refuses another backend for its sums, without a branch; empty: it takes it.
std::string refusal_of_backend(const std::vector<std::string>& common, const std::string& was, const std::string& now) {
  const auto with = [&](const std::string& backend) {
    std::vector<std::string> sets = common;
    sets.insert(sets.end(), {kNetwork, "sync.backend=" + backend});
    return config_with(sets);
  };
  const auto checked = check_changes(with(was), with(now), false, "FILE");
  return checked.ok() ? "" : checked.failure().message;
}

TEST(BranchPlan, AnotherBackendAsksForABranchOnlyWhereItAddsUpToOtherBits) {
  const auto needs_branch = HasSubstr("sync.backend may change on a branch");
  for (const auto& [was, now] : {std::pair{"nccl", "ring"}, {"ring", "nccl"}, {"owner", "nccl"}, {"ring", "owner"}}) {
    EXPECT_EQ(refusal_of_backend({"sync.reduction=exact"}, was, now), "") << was << " to " << now;
    EXPECT_THAT(refusal_of_backend({"sync.reduction=fast"}, was, now), needs_branch) << was << " to " << now;
  }
  for (const std::string reduction : {"sync.reduction=exact", "sync.reduction=fast"}) {
    EXPECT_THAT(refusal_of_backend({"sync.mode=diloco", reduction}, "ring", "owner"), needs_branch) << "float32";
  }
  const Config exact = config_with({kNetwork, "sync.backend=nccl", "sync.reduction=exact"});
  const auto refusal_beside = [&exact](const std::string& other) {
    return check_changes(exact, config_with({kNetwork, "sync.reduction=exact", other}), false, "FILE")
        .failure()
        .message;
  };
  EXPECT_THAT(refusal_beside("optim.lr=0.5"), AllOf(HasSubstr("optim.lr may change"), Not(HasSubstr("sync.backend"))));
  EXPECT_THAT(refusal_beside("sync.reduction=fast"), HasSubstr("sync.reduction, sync.backend may change on a branch"));
}

// A change that is free may stand beside those that the branch was begun with: the command is the same.
TEST(BranchPlan, AFreeChangeOfTheBackendRepeatsTheCommandOfABranch) {
  const std::vector<std::string> sets = {kNetwork, "optim.lr=0.5", "sync.backend=nccl"};
  const auto turn = [&](const std::string& reduction) {
    std::vector<std::string> all = sets;
    all.push_back(reduction);
    const Config was = config_with(all);
    all.push_back("sync.backend=ring");
    const BegunBranch begun{{"b", Branch{1}, 10, {{"optim.lr", "0.001", "0.5"}}, ""}, true};
    return turn_of({{"b", {}}, was, changes_between(was, config_with(all))}, begun);
  };
  const auto free = turn("sync.reduction=exact");
  ASSERT_TRUE(free.ok()) << free.failure().message;
  EXPECT_EQ(*free, BranchTurn::kGoOn);
  EXPECT_FALSE(turn("sync.reduction=fast").ok()) << "control";
}

TEST(BranchPlan, AWishHasANameThatAFileCanHave) {
  EXPECT_FALSE(branch_wish({}, {})->has_value());
  EXPECT_EQ((*branch_wish("lower-lr", 10))->from, 10U);
  EXPECT_THAT(branch_wish({}, 10).failure().message, HasSubstr("--branch NAME"));
  for (const std::string name : {"", "../a", "a/b", "a b", ".hidden"}) {
    EXPECT_EQ(branch_wish(name, {}).failure().error, Error::kUsage) << name;
  }
}

TEST(BranchPlan, TheScheduleOfALongerRunIsLongerUnlessSomebodySaysOtherwise) {
  const auto stretched = [](const std::vector<std::string>& sets_before, const std::vector<std::string>& sets) {
    const Config was = config_with(sets_before);
    std::vector<std::string> all = sets_before;
    all.push_back("optim.decay_steps=" + std::to_string(was.optim.decay_steps));  // as the run's file has it
    all.insert(all.end(), sets.begin(), sets.end());
    Config now = config_with(all);
    stretch_schedule(was, now, sets);
    return now.optim.decay_steps;
  };
  EXPECT_EQ(stretched({"run.steps=20", "optim.warmup_steps=5"}, {"run.steps=40"}), 40U);
  EXPECT_EQ(stretched({"run.steps=20", "optim.warmup_steps=5"}, {"run.steps=40", "optim.decay_steps=20"}), 20U);
  EXPECT_EQ(stretched({"run.steps=20", "optim.warmup_steps=5"}, {"run.steps=40", "optim.decay_steps=30"}), 30U);
  EXPECT_EQ(stretched({"run.steps=20", "optim.warmup_steps=5"}, {"run.steps=40", " optim.decay_steps = 20"}), 20U);
  EXPECT_EQ(stretched({"run.steps=20", "optim.warmup_steps=5", "optim.decay_steps=15"}, {"run.steps=40"}), 15U);
}

// Says how the state after so many steps refuses a change of rounds; empty: it does not.
std::string refusal_at(std::uint64_t from, std::vector<std::string> before, const std::vector<std::string>& sets) {
  before.insert(before.end(), {"sync.mode=diloco", "sync.H=10"});
  const Config was = config_with(before);
  before.insert(before.end(), sets.begin(), sets.end());
  const Config now = config_with(before);
  const auto checked = check_round_end(was, now, from);
  return checked.ok() ? "" : checked.failure().message;
}

TEST(BranchPlan, KeysOfRoundsChangeWhereARoundEnds) {
  EXPECT_EQ(refusal_at(20, {}, {"sync.outer_lr=0.5"}), "");
  EXPECT_THAT(refusal_at(25, {}, {"sync.outer_lr=0.5"}), HasSubstr("ends are after 20 and 30 steps"));
  EXPECT_EQ(refusal_at(25, {}, {"optim.lr=0.5"}), "") << "it is none of theirs";
  EXPECT_EQ(refusal_at(20, {}, {"sync.H=5"}), "");
  EXPECT_THAT(refusal_at(20, {}, {"sync.H=15"}), HasSubstr("no multiple of sync.H = 15"));
  EXPECT_EQ(refusal_at(30, {}, {"sync.H=15"}), "");
  EXPECT_EQ(refusal_at(0, {}, {"sync.H=7"}), "") << "no round has begun";
}

TEST(BranchPlan, TheTimesOfRoundsStayWhileOneIsUnderWay) {
  EXPECT_EQ(refusal_at(20, {"sync.overlap=2"}, {"sync.outer_lr=0.5"}), "");
  EXPECT_THAT(refusal_at(20, {"sync.overlap=2"}, {"sync.H=5"}), HasSubstr("no round is under way"));
  EXPECT_THAT(refusal_at(20, {}, {"sync.overlap=2"}), HasSubstr("no round is under way"));
  EXPECT_THAT(refusal_at(20, {"sync.outer_update=delayed"}, {"sync.H=5"}), HasSubstr("no round is under way"));
  EXPECT_EQ(refusal_at(20, {}, {"sync.fragments=2"}), "");
  EXPECT_THAT(refusal_at(20, {"sync.fragments=2"}, {"sync.H=5"}), HasSubstr("sync.fragments = 2 take turns"));
  EXPECT_EQ(refusal_at(20, {"sync.fragments=2"}, {"sync.outer_lr=0.5"}), "");
}

TEST(BranchPlan, AStateHasTheConfigurationOfItsOwnBranch) {
  const std::vector<std::string> rounds = {"sync.mode=diloco", "optim.lr=0.5"};
  std::vector<std::string> first = rounds, second = rounds, third = rounds;
  first.emplace_back("sync.H=5");
  second.emplace_back("sync.H=3");
  third.insert(third.end(), {"sync.H=3", "sync.wire=int8", "optim.betas=[0.8, 0.9]"});
  const Config oldest = config_with(first), middle = config_with(second), newest = config_with(third);
  const std::vector<BranchRecord> told = {{"c", Branch{6}, 10, changes_between(middle, newest), ""},
                                          {"b", Branch{4}, 15, changes_between(oldest, middle), ""}};
  for (const std::uint32_t branch : {0U, 3U})
    EXPECT_EQ(write_config(config_of(Branch{branch}, newest, told)), write_config(oldest));
  for (const std::uint32_t branch : {4U, 5U})
    EXPECT_EQ(write_config(config_of(Branch{branch}, newest, told)), write_config(middle));
  EXPECT_EQ(write_config(config_of(Branch{6}, newest, told)), write_config(newest));
}

TEST(BranchPlan, AScheduleOfRoundsHoldsFromTheBranchThatChangedIt) {
  const auto config = [](const std::string& set) { return config_with({"sync.mode=diloco", set}); };
  const Config five = config("sync.H=5"), three = config("sync.H=3");
  const BranchRecord shorter{"shorter", Branch{1}, 15, changes_between(five, three), ""};
  const BranchRecord lower{"lower", Branch{2}, 20, {{"optim.lr", "0.001", "0.5"}}, ""};
  EXPECT_EQ(rounds_from(five, {}), 0U);
  EXPECT_EQ(rounds_from(three, {shorter}), 15U);
  EXPECT_EQ(rounds_from(three, {lower, shorter}), 15U);
  BranchRecord older = lower;
  older.step = 5;
  EXPECT_EQ(rounds_from(three, {older, shorter}), 5U) << "the state after five steps has rounds of five";
  const BranchRecord back{"back", Branch{2}, 10, changes_between(three, five), ""};
  EXPECT_EQ(rounds_from(five, {back, shorter}), 0U) << "it has left the shorter ones";
}

TEST(BranchPlan, TheRefusalOfRoundsSaysWhatStaysHow) {
  EXPECT_THAT(refusal_at(25, {}, {"sync.outer_lr=0.5"}),
              AllOf(HasSubstr("sync.outer_lr = 0.5 (was 0.7)"), HasSubstr("stays by --set sync.outer_lr=0.7")));
}

TEST(BranchPlan, TheSameCommandGoesOnWithWhatItBegan) {
  const Config was = config_with({"optim.lr=0.5"});
  const BegunBranch begun{{"b", Branch{1}, 10, {{"optim.lr", "0.001", "0.5"}}, ""}, true};
  const auto turn = [&](const BranchWish& wish, const std::vector<std::string>& sets, bool is_half_made = true) {
    return turn_of({wish, was, changes_between(was, config_with(sets))}, {begun.record, is_half_made});
  };
  EXPECT_EQ(*turn({"b", {}}, {"optim.lr=0.5"}), BranchTurn::kGoOn);
  EXPECT_EQ(*turn({"b", 10}, {"optim.lr=0.5", "pipeline.stages=1"}), BranchTurn::kGoOn);
  EXPECT_EQ(*turn({"b", {}}, {"optim.lr=0.5"}, false), BranchTurn::kGoOn);
  EXPECT_EQ(*turn({"c", 5}, {"optim.lr=0.1"}, false), BranchTurn::kBegin) << "that is made, and another one follows it";
  const std::vector<std::pair<BranchWish, std::string>> others = {
      {{"b", {}}, "optim.lr=0.1"}, {{"b", 5}, "optim.lr=0.5"}, {{"c", {}}, "optim.lr=0.5"}};
  for (const auto& [wish, set] : others) {
    const auto refused = turn(wish, {set});
    ASSERT_FALSE(refused.ok()) << wish.name;
    EXPECT_EQ(refused.failure().error, Error::kUsage);
    EXPECT_THAT(refused.failure().message,
                AllOf(HasSubstr("branch b stands half-made"), HasSubstr("from step 10: optim.lr = 0.5 (was 0.001)"),
                      HasSubstr("go on with it by --resume without --branch")));
  }
}

TEST(BranchPlan, ItsNumberIsNewToEverybody) {
  EXPECT_EQ(number_after({}), Branch{1});
  EXPECT_EQ(number_after({Branch{2}, Branch{4}, Branch{0}}), Branch{5});
}

}  // namespace
}  // namespace shoal::branch_plan_test
