// Names of what runs, and the words of an order: what is found, what is refused, and what a person is told.
#include "runtime/cluster/operate/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "messages/codec.h"
#include "runtime/base/compose.h"
#include "runtime/cluster/operate/operator_words.h"

namespace shoal::targets_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Target> some_targets() {
  const ProcessIncarnation node{3};
  return {{"stage/1/0", to_stage(node, Incarnation{17}), false},
          {"router/node2", {node, Role::kRouter, {}, {}}, false},
          {"sync_group/0", to_sync_group(StageId{0}), false},
          {"node2", to_node_agent(node), true}};
}

TEST(Targets, ANameIsFoundWithItsAddress) {
  for (const Target& target : some_targets()) EXPECT_EQ(*resolve_target(target.name, some_targets()), target);
}

TEST(Targets, WhatIsNotThereIsAnsweredByTheNearestNameAndAllNames) {
  const auto found = resolve_target("stage/1/1", some_targets());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.failure().error, Error::kUsage);
  EXPECT_THAT(found.failure().message, HasSubstr("nothing here is named 'stage/1/1'"));
  EXPECT_THAT(found.failure().message, HasSubstr("did you mean 'stage/1/0'?"));
  EXPECT_THAT(found.failure().message, HasSubstr("router/node2"));
  const auto strange = resolve_target("unheard-of-thing", some_targets());
  EXPECT_THAT(strange.failure().message, Not(HasSubstr("did you mean")));
}

TEST(Targets, AnEmptyRunHasNoNames) {
  EXPECT_THAT(resolve_target("node1", {}).failure().message, HasSubstr("there are: none"));
}

TEST(OperatorWords, EveryKindOfFailureHasAWord) {
  for (const std::string word : {"exit", "kill", "throw"}) EXPECT_EQ(word_of(parse_how(word)->how), word);
  const auto frozen = parse_how("freeze=2.5");
  ASSERT_TRUE(frozen.ok());
  EXPECT_EQ(frozen->how, InjectKind::kFreeze);
  EXPECT_EQ(frozen->freeze_ms, 2500U);
  EXPECT_EQ(deed_of(frozen->how, frozen->freeze_ms), "frozen for 2.5 s");
}

// The codec refuses a letter with a way to fail above last(InjectKind) in messages/fields/io.h.
TEST(OperatorWords, EveryKindOfFailureReachesAnotherProcess) {
  const auto comes_through = [](InjectKind how) {
    Letter letter;
    letter.body = Inject{.id = 1, .target = {}, .whole_process = false, .how = how, .freeze_ms = 0};
    const EncodedLetter encoded = encode(letter);
    const Decoded<Letter> decoded = decode(encoded.bytes, encoded.buffers);
    return decoded.value && std::get<Inject>(decoded.value->body).how == how;
  };
  for (std::uint32_t how = 0; how < inject_kind_count(); ++how) {
    EXPECT_TRUE(comes_through(static_cast<InjectKind>(how))) << word_of(static_cast<InjectKind>(how));
  }
  EXPECT_FALSE(comes_through(static_cast<InjectKind>(inject_kind_count()))) << "the codec knows a way without a word";
}

TEST(OperatorWords, OtherWordsAreRefused) {
  for (const std::string word : {"", "freeze", "freeze=", "freeze=0", "freeze=-1", "freeze=x", "freeze=3601", "stab"}) {
    EXPECT_FALSE(parse_how(word).ok()) << word;
  }
}

TEST(OperatorWords, AnOrderComesThroughAsItWasGiven) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    OperatorOrder order;
    order.how = static_cast<InjectKind>(random() % inject_kind_count());
    order.freeze_ms = order.how == InjectKind::kFreeze ? 1 + random() % kFreezeMsMax : 0;
    order.name = compose("stage/", random() % 9, "/", random() % 9);
    order.reason = compose("shoal chaos --seed ", random());
    const auto parsed = parse_kill(kill_text(order));
    ASSERT_TRUE(parsed.ok()) << parsed.failure().message;
    EXPECT_EQ(parsed->name, order.name);
    EXPECT_EQ(parsed->how, order.how);
    EXPECT_EQ(parsed->freeze_ms, order.freeze_ms);
    EXPECT_EQ(parsed->reason, order.reason);
  }
}

TEST(OperatorWords, ADamagedOrderIsRefusedByItsField) {
  const auto refusal = [](const std::string& body) {
    const auto parsed = parse_kill(body);
    return parsed.ok() ? std::string("accepted") : parsed.failure().message;
  };
  EXPECT_THAT(refusal("nonsense"), HasSubstr("JSON"));
  EXPECT_THAT(refusal(R"({"how":"kill","reason":"r"})"), HasSubstr("'name'"));
  EXPECT_THAT(refusal(R"({"name":"n","how":7,"reason":"r"})"), HasSubstr("'how'"));
  EXPECT_THAT(refusal(R"({"name":"n","how":"stab","reason":"r"})"), HasSubstr("stab"));
  EXPECT_THAT(refusal(R"({"name":"n","how":"kill"})"), HasSubstr("'reason'"));
  EXPECT_THAT(refusal(R"({"name":"n","how":"freeze","reason":"r"})"), HasSubstr("freeze_ms"));
  EXPECT_THAT(refusal(R"({"name":"n","how":"kill","freeze_ms":5,"reason":"r"})"), HasSubstr("freeze_ms"));
  EXPECT_EQ(refusal(R"({"name":"n","how":"freeze","freeze_ms":5,"reason":"r"})"), "accepted");
}

}  // namespace
}  // namespace shoal::targets_test
