// The outer state beside the weights: which delta is contributed, what an update moves, what an image keeps and what a
// restart drops. The numbers themselves are compared in tests/reference.
#include "runtime/device/outer/outer_state.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "runtime/base/config_keys.h"
#include "runtime/storage/inner_parts.h"
#include "tests/runtime/device/local_pipeline.h"

namespace shoal::outer_state_test {
namespace {

constexpr std::uint32_t kMicrobatches = 6;

Config round_config(OuterUpdate update = OuterUpdate::kWait) {
  Config config = small_config(Reduction::kFast);
  config.sync.mode = SyncMode::kDiloco;
  config.sync.fragments = 2;
  config.sync.outer_update = update;
  return config;
}

// One stage of the whole model that trains alone: its mean is its own contribution.
class Alone {
 public:
  explicit Alone(Config config) : config_(std::move(config)), pipeline_(config_, 1) {}

  void train(int steps) {
    for (int i = 0; i < steps; ++i) pipeline_.train(step_++, in_order(kMicrobatches));
  }
  // A round of each fragment.
  std::vector<std::uint64_t> sync(bool is_closing = false) {
    round_ += 1;
    std::vector<std::uint64_t> digests;
    for (std::uint32_t fragment = 0; fragment < 2; ++fragment) {
      RoundUpdate update{.fragment = fragment, .round = round_, .mean = executor().contribute_round(fragment)};
      update.own_weight = update.total_weight = update.newest_weight = 100;
      update.is_closing = is_closing;
      digests.push_back(executor().apply_round(update));
    }
    return digests;
  }
  StageExecutor& executor() { return pipeline_.stage(0); }
  std::map<std::string, std::vector<float>> state() const { return pipeline_.state(); }

 private:
  Config config_;
  LocalPipeline pipeline_;
  std::uint64_t step_ = 0;
  std::uint64_t round_ = 0;
};

// Tensors of the image whose names begin so, by the rest of their names.
std::map<std::string, std::vector<float>> part(const Alone& alone, const std::string& prefix) {
  std::map<std::string, std::vector<float>> found;
  for (const auto& [name, values] : alone.state()) {
    const bool is_weight = !name.starts_with("optimizer.") && !name.starts_with("outer.");
    if (prefix.empty() ? is_weight : name.starts_with(prefix)) found[name.substr(prefix.size())] = values;
  }
  return found;
}

TEST(OuterState, IsNotThereWhenReplicasAgreeAtEachStep) {
  Config config = round_config();
  config.sync.mode = SyncMode::kEveryStep;
  Alone alone(config);
  EXPECT_TRUE(part(alone, "outer.").empty());
  EXPECT_THROW((void)alone.executor().contribute_round(0), Bug);
  EXPECT_THROW((void)alone.executor().restart_from_outer(), Bug);
}

TEST(OuterState, AContributionIsTheAgreedValueMinusTheLocalOneInTheOrderOfNames) {
  Alone alone(round_config());
  const auto before = part(alone, "");
  alone.train(2);
  const auto after = part(alone, "");
  const auto plan = whole_model(small_config(Reduction::kFast).model);
  std::vector<StageTensor> tensors;
  for (const TensorSpec& tensor : plan.tensors) {
    tensors.push_back({tensor.layer, static_cast<std::uint64_t>(element_count(tensor))});
  }
  const auto fragments = deal_fragments(tensors, 2, FragmentPattern::kStrided);
  for (std::uint32_t fragment = 0; fragment < 2; ++fragment) {
    std::vector<float> expected;
    for (const std::size_t index : fragments[fragment].tensors) {
      const std::string& name = plan.tensors[index].name;
      for (std::size_t i = 0; i < before.at(name).size(); ++i) {
        expected.push_back(before.at(name)[i] - after.at(name)[i]);
      }
    }
    const TensorBlob values = alone.executor().contribute_round(fragment);
    ASSERT_EQ(values.shape, std::vector{static_cast<std::int64_t>(expected.size())});
    EXPECT_EQ(std::vector<float>(values.as<float>(), values.as<float>() + expected.size()), expected);
  }
}

TEST(OuterState, AnUpdateOfOneFragmentLeavesTheOthersAlone) {
  Alone alone(round_config());
  alone.train(2);
  const auto before = alone.state();
  (void)alone.executor().apply_round({.fragment = 1, .round = 1, .mean = alone.executor().contribute_round(1)});
  const auto after = alone.state();
  EXPECT_EQ(before.at("h.0.attn.c_attn.weight"), after.at("h.0.attn.c_attn.weight"));
  EXPECT_EQ(before.at("outer.h.0.attn.c_attn.weight"), after.at("outer.h.0.attn.c_attn.weight"));
  EXPECT_NE(before.at("h.1.attn.c_attn.weight"), after.at("h.1.attn.c_attn.weight"));
  EXPECT_EQ(after.at("h.1.attn.c_attn.weight"), after.at("outer.h.1.attn.c_attn.weight"));
}

TEST(OuterState, TheDigestIsOfTheAgreedSideAlone) {
  Alone one(round_config());
  Alone other(round_config());
  one.train(2);
  other.train(3);
  const TensorBlob mean = one.executor().contribute_round(0);
  const RoundUpdate update{.fragment = 0, .round = 1, .mean = mean};
  EXPECT_EQ(one.executor().apply_round(update), other.executor().apply_round(update));
  const RoundUpdate another{.fragment = 1, .round = 1, .mean = one.executor().contribute_round(1)};
  const RoundUpdate third{.fragment = 1, .round = 1, .mean = other.executor().contribute_round(1)};
  EXPECT_NE(one.executor().apply_round(another), other.executor().apply_round(third)) << "the control: other means";
}

TEST(OuterState, AMeanOfAnotherSizeOrWhereNoneBelongsIsABug) {
  Alone alone(round_config());
  const TensorBlob mean = alone.executor().contribute_round(0);
  EXPECT_THROW((void)alone.executor().apply_round({.fragment = 1, .round = 1, .mean = mean}), Bug);
  EXPECT_THROW((void)alone.executor().apply_round({.fragment = 0, .round = 0, .mean = mean}), Bug);
  EXPECT_THROW((void)alone.executor().apply_round({.fragment = 0, .round = 1, .mean = {}}), Bug);
  EXPECT_THROW((void)alone.executor().apply_round({.fragment = 0, .round = 0, .mean = {}}), Bug)
      << "a round that is waited for";
}

const std::vector<std::pair<OuterUpdate, EagerVariant>> kVariants = {{OuterUpdate::kWait, EagerVariant::kAgreed},
                                                                     {OuterUpdate::kDelayed, EagerVariant::kAgreed},
                                                                     {OuterUpdate::kEager, EagerVariant::kAgreed},
                                                                     {OuterUpdate::kEager, EagerVariant::kPaper}};

TEST(OuterState, AnImageContinuesTheRunBitForBitInEveryVariant) {
  for (const auto& [update, variant] : kVariants) {
    Config config = round_config(update);
    config.sync.eager_variant = variant;
    config.sync.inner_state = InnerState::kReset;
    Alone whole(config);
    whole.train(2);
    whole.sync();
    whole.train(1);
    Alone resumed(config);
    resumed.train(3);
    resumed.sync();  // its own past must not show
    ASSERT_TRUE(resumed.executor().load_state(whole.executor().state_image()).ok());
    EXPECT_EQ(whole.state(), resumed.state());
    EXPECT_EQ(whole.executor().state_digest(), resumed.executor().state_digest());
    whole.train(2);
    resumed.train(2);
    EXPECT_EQ(whole.sync(), resumed.sync());
    EXPECT_EQ(whole.state(), resumed.state());
  }
}

// Returns the configuration once for every optimiser that a person may choose.
std::vector<Config> with_every_optimizer(const Config& config) {
  const ConfigKey* const key = find_config_key("optim.kind");
  std::vector<Config> configs(key->choices.size(), config);
  for (std::size_t i = 0; i < configs.size(); ++i) key->set(configs[i], key->choices[i]);
  return configs;
}

TEST(OuterState, EveryOptimizerThatCanBeChosenMakesAStepOfItsOwn) {
  std::set<std::map<std::string, std::vector<float>>> weights;
  for (const Config& config : with_every_optimizer(round_config())) {
    Alone alone(config);
    alone.train(2);
    EXPECT_TRUE(weights.insert(part(alone, "")).second) << "the weights of an optimiser before it";
    Alone again(config);
    again.train(2);
    EXPECT_FALSE(weights.insert(part(again, "")).second) << "the same optimiser gives the same weights";
  }
}

TEST(OuterState, AnImageIsAsLargeAsThePlanSays) {
  for (const auto& [update, variant] : kVariants) {
    for (Config config : with_every_optimizer(round_config(update))) {
      config.sync.eager_variant = variant;
      const StagePlan plan = whole_model(config.model);
      const std::uint64_t planned = state_bytes(plan, config);
      const std::uint64_t bytes = Alone(config).executor().state_image().byte_count();
      EXPECT_GT(bytes, planned) << "names and shapes";
      EXPECT_LT(bytes, planned + plan.parameter_count * sizeof(float)) << "less than another copy";
    }
  }
}

TEST(OuterState, AnImageWithoutOuterStateStartsOneAtItsWeights) {
  Config every_step = round_config();
  every_step.sync.mode = SyncMode::kEveryStep;
  Alone donor(every_step);
  donor.train(2);
  for (const auto& [update, variant] : kVariants) {
    Config config = round_config(update);
    config.sync.eager_variant = variant;
    Alone alone(config);
    alone.train(1);
    alone.sync();
    ASSERT_TRUE(alone.executor().load_state(donor.executor().state_image()).ok());
    EXPECT_EQ(part(alone, ""), part(donor, ""));
    for (const auto& [name, values] : part(donor, "")) {
      EXPECT_EQ(alone.state().at("outer." + name), values);
      EXPECT_EQ(alone.state().at("outer.momentum." + name), std::vector<float>(values.size()));
    }
    for (std::uint32_t fragment = 0; fragment < 2; ++fragment) {
      const TensorBlob values = alone.executor().contribute_round(fragment);
      EXPECT_EQ(std::count(values.as<float>(), values.as<float>() + values.element_count(), 0.0F),
                values.element_count());
    }
  }
}

TEST(OuterState, AnImageThatLacksPartOfTheOuterStateIsRefused) {
  Alone donor(round_config());
  const TensorBlob image = donor.executor().state_image();
  auto stored = parse_safetensors({image.bytes->data(), image.bytes->size()}, "an image");
  ASSERT_TRUE(stored.ok());
  std::erase_if(*stored, [](const StoredTensor& tensor) { return tensor.name == "outer.momentum.wte.weight"; });
  const TensorBlob broken = build_safetensors(std::move(*stored));
  Alone alone(round_config());
  alone.train(1);
  const auto before = alone.state();
  const Status loaded = alone.executor().load_state(broken);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.failure().message.find("outer.momentum.wte.weight"), std::string::npos);
  EXPECT_EQ(alone.state(), before);
}

TEST(OuterState, ARestartDropsTheLocalProgressAndWhatWasContributed) {
  for (const auto& [update, variant] : kVariants) {
    Config config = round_config(update);
    config.sync.eager_variant = variant;
    Alone alone(config);
    alone.train(2);
    const auto digests = alone.sync();
    alone.train(2);
    EXPECT_EQ(alone.executor().restart_from_outer(), digests);
    for (const auto& [name, values] : part(alone, "")) EXPECT_EQ(alone.state().at("outer." + name), values);
    const TensorBlob fresh = alone.executor().contribute_round(0);
    EXPECT_EQ(std::count(fresh.as<float>(), fresh.as<float>() + fresh.element_count(), 0.0F), fresh.element_count());
  }
}

TEST(OuterState, WhatIsEvaluatedIsWhatAllAgreeOn) {
  for (const auto& [update, variant] : kVariants) {
    Config config = round_config(update);
    config.sync.eager_variant = variant;
    Alone alone(config);
    const MicrobatchWork work = random_work(config, 9, 1);
    const auto loss = [&] { return alone.executor().evaluate(work).loss_sum; };
    alone.train(2);
    alone.sync();
    const auto state = alone.state();
    const double agreed = loss();
    EXPECT_EQ(alone.state(), state) << "an evaluation changes nothing";
    alone.train(2);
    EXPECT_EQ(loss(), agreed) << "own steps are not agreed";
    Alone other(config);
    ASSERT_TRUE(other.executor().load_state(alone.executor().state_image()).ok());
    EXPECT_EQ(other.executor().evaluate(work).loss_sum, agreed);
    (void)alone.executor().restart_from_outer();
    EXPECT_EQ(loss(), agreed);
    alone.train(1);
    alone.sync();
    EXPECT_NE(loss(), agreed) << "the control: a round moves it";
  }
}

TEST(OuterState, AnEagerUpdateTakesTheOwnDeltaOutOfTheMeanAsTheMeanHoldsIt) {
  Alone exact(round_config(OuterUpdate::kEager));
  Alone told(round_config(OuterUpdate::kEager));
  for (Alone* alone : {&exact, &told}) {
    alone->train(2);
    RoundUpdate first;
    first.newest_weight = 100;
    (void)alone->executor().apply_round(first);
    alone->train(1);
  }
  // The mean is this worker's delta alone, as 3 where it was something else: nothing of it is the others'.
  const TensorBlob delta = exact.executor().contribute_round(0);
  auto bytes = std::make_shared<AlignedBuffer>(delta.byte_count());
  std::fill_n(reinterpret_cast<float*>(bytes->data()), delta.element_count(), 3.0F);
  RoundUpdate second{.fragment = 0, .round = 1, .mean = {DType::kFloat32, delta.shape, bytes}};
  second.own_weight = second.total_weight = second.newest_weight = 100;
  (void)exact.executor().apply_round(second);
  second.own = second.mean;
  (void)told.executor().apply_round(second);
  EXPECT_EQ(part(exact, "outer.momentum."), part(told, "outer.momentum.")) << "what is agreed is the same";
  EXPECT_NE(part(exact, "outer.start."), part(told, "outer.start.")) << "what goes ahead is not";
  for (const auto& [name, values] : part(told, "outer.contribution.")) {
    EXPECT_EQ(values, part(exact, "outer.contribution.").at(name)) << "the newest delta is kept either way";
  }
}

bool is_at_what_is_agreed(const Alone& alone) {
  const auto state = alone.state();
  const auto weights = part(alone, "");
  return std::all_of(weights.begin(), weights.end(),
                     [&](const auto& weight) { return state.at("outer." + weight.first) == weight.second; });
}

TEST(OuterState, AClosingUpdateLeavesNothingAheadOfWhatIsAgreed) {
  for (const auto& [update, variant] : kVariants) {
    Config config = round_config(update);
    config.sync.eager_variant = variant;
    for (const bool is_closing : {true, false}) {
      Alone alone(config);
      alone.train(2);
      alone.sync(is_closing);
      const bool is_ahead = update == OuterUpdate::kEager && !is_closing;  // the control: only eager updates go ahead
      EXPECT_EQ(is_at_what_is_agreed(alone), !is_ahead);
      const TensorBlob fresh = alone.executor().contribute_round(0);
      EXPECT_EQ(std::count(fresh.as<float>(), fresh.as<float>() + fresh.element_count(), 0.0F), fresh.element_count());
      if (!is_closing || update != OuterUpdate::kEager) continue;
      for (const auto& [name, values] : part(alone, "outer.contribution.")) {
        EXPECT_EQ(values, std::vector<float>(values.size())) << name;
      }
    }
  }
}

TEST(OuterState, WhatWasContributedIsKeptForEagerUpdatesAlone) {
  Config overlapping = round_config();
  overlapping.sync.overlap = 2;
  Alone eager(round_config(OuterUpdate::kEager));
  eager.train(2);
  eager.sync();
  EXPECT_FALSE(part(eager, "outer.contribution.").empty());
  for (const Config& config : {round_config(), overlapping, round_config(OuterUpdate::kDelayed)}) {
    Alone alone(config);
    alone.train(2);
    alone.sync();
    EXPECT_TRUE(part(alone, "outer.contribution.").empty());
    ASSERT_TRUE(alone.executor().load_state(eager.executor().state_image()).ok()) << "an image may hold it";
    EXPECT_EQ(part(alone, "outer.momentum."), part(eager, "outer.momentum."));
  }
}

bool are_finite(const std::map<std::string, std::vector<float>>& tensors) {
  return std::ranges::all_of(tensors, [](const auto& tensor) {
    return std::ranges::all_of(tensor.second, [](float value) { return std::isfinite(value); });
  });
}

// The member's local parameters are no numbers: its contribution has no weight, and the agreed values bring it back.
TEST(OuterState, AnEagerMemberThatWentAstrayStartsAgainFromWhatIsAgreed) {
  for (const EagerVariant variant : {EagerVariant::kAgreed, EagerVariant::kPaper}) {
    Config config = round_config(OuterUpdate::kEager);
    config.sync.eager_variant = variant;
    Alone alone(config);
    alone.train(2);
    const TensorBlob mean = alone.executor().contribute_round(0);
    alone.sync();
    const TensorBlob image = alone.executor().state_image();
    auto stored = parse_safetensors({image.bytes->data(), image.bytes->size()}, "an image");
    ASSERT_TRUE(stored.ok());
    const std::vector<float> astray(part(alone, "").at("h.0.ln_1.bias").size(), std::nanf(""));
    for (StoredTensor& tensor : *stored) {
      if (tensor.name == "h.0.ln_1.bias") tensor.bytes = std::as_bytes(std::span(astray));
    }
    ASSERT_TRUE(alone.executor().load_state(build_safetensors(std::move(*stored))).ok());
    EXPECT_FALSE(are_finite(alone.state())) << "the control";
    RoundUpdate update{.fragment = 0, .round = 2, .mean = mean, .own_weight = 100, .total_weight = 200};
    (void)alone.executor().apply_round(update);
    EXPECT_TRUE(are_finite(alone.state())) << "without weight in the newest round";
    update.round = 3;
    update.own_weight = 0;
    update.newest_weight = 100;
    (void)alone.executor().apply_round(update);
    EXPECT_TRUE(are_finite(alone.state())) << "and in the one after it";
  }
}

// The code that makes the state of an optimiser without a step relies on it.
TEST(StageState, HasOfTheInnerOptimiserWhatIsSaidOfIt) {
  for (const SyncMode mode : {SyncMode::kEveryStep, SyncMode::kDiloco}) {
    for (const OptimizerKind kind : {OptimizerKind::kAdamw, OptimizerKind::kSgd}) {
      for (const InnerState inner : {InnerState::kKeep, InnerState::kAverage, InnerState::kReset}) {
        Config config = round_config();
        config.sync.mode = mode;
        config.optim.kind = kind;
        config.sync.inner_state = inner;
        const Alone alone(config);
        const auto weights = part(alone, "");
        std::size_t said = 0;
        for (const InnerPart& one : inner_parts(config)) {
          for (const auto& [name, values] : part(alone, std::string(one.prefix))) {
            EXPECT_EQ(values, std::vector<float>(one.size == PartSize::kOneValue ? 1 : weights.at(name).size()));
            ++said;
          }
        }
        EXPECT_EQ(part(alone, "optimizer.").size(), said);
        EXPECT_EQ(said, weights.size() * inner_parts(config).size());
      }
    }
  }
}

TEST(OuterState, ResettingStartsTheAveragesOfTheFragmentAnew) {
  Config config = round_config();
  config.sync.inner_state = InnerState::kReset;
  Alone alone(config);
  alone.train(3);
  EXPECT_EQ(part(alone, "optimizer.updates.").at("wte.weight"), std::vector<float>{3});
  (void)alone.executor().apply_round({.fragment = 0, .round = 1, .mean = alone.executor().contribute_round(0)});
  const auto state = alone.state();
  const auto zeros = std::vector<float>(state.at("h.0.ln_1.weight").size());
  EXPECT_EQ(state.at("optimizer.exp_avg.h.0.ln_1.weight"), zeros);
  EXPECT_EQ(state.at("optimizer.exp_avg_sq.h.0.ln_1.weight"), zeros);
  EXPECT_EQ(state.at("optimizer.updates.h.0.ln_1.weight"), std::vector<float>{0});
  EXPECT_NE(state.at("optimizer.exp_avg.h.1.ln_1.weight"), zeros) << "another fragment's";
}

}  // namespace
}  // namespace shoal::outer_state_test
