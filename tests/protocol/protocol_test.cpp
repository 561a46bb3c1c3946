// The short searches of the model: with every rule nothing is found, and what each rule prevents is found without it.
#include <gtest/gtest.h>

#include <cctype>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/protocol/explore/fingerprints.h"
#include "tests/protocol/searches.h"
#include "tests/protocol/step/step_model.h"

namespace shoal::protocol::protocol_test {

// The names of tests in lists say what is searched.
void PrintTo(const FullSearch& full, std::ostream* out) { *out << full.search; }
void PrintTo(const Removal& removal, std::ostream* out) { *out << removal.rule; }

namespace {

std::string as_test_name(std::string text) {
  std::erase_if(text, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return text;
}

class EveryRule : public testing::TestWithParam<FullSearch> {};

TEST_P(EveryRule, TogetherBreakNothing) {
  const Outcome outcome = run_search(GetParam().search).value().outcome;
  EXPECT_FALSE(outcome.broken) << *outcome.broken << "\n" << outcome.story;
  EXPECT_TRUE(outcome.is_complete);
  EXPECT_GT(outcome.ends, 0U) << "no run came to its end: the search proves nothing";
  EXPECT_EQ(outcome.states, GetParam().states) << "the model has changed; is that meant?";
}

INSTANTIATE_TEST_SUITE_P(Protocol, EveryRule, testing::ValuesIn(short_searches()),
                         [](const auto& test) { return as_test_name(std::string(test.param.search)); });

class OneRule : public testing::TestWithParam<Removal> {};

TEST_P(OneRule, IsMissedWhenItIsRemoved) {
  constexpr std::size_t kCalmStates = 20'000;  // a run to the end, if there is one, is found among far fewer
  const Outcome outcome = run_search(line_of(GetParam()), kCalmStates).value().outcome;
  ASSERT_TRUE(outcome.broken) << "nothing is found without " << GetParam().rule;
  EXPECT_TRUE(outcome.broken->starts_with(GetParam().finds)) << *outcome.broken << "\n" << outcome.story;
  EXPECT_FALSE(outcome.story.empty());
}

INSTANTIATE_TEST_SUITE_P(Protocol, OneRule, testing::ValuesIn(short_removals()),
                         [](const auto& test) { return as_test_name(std::string(test.param.rule)); });

TEST(Searches, EveryRuleHasOneThatRemovesIt) {
  std::set<std::string_view> removed;
  for (const Removal& removal : short_removals()) removed.insert(removal.rule);
  for (const Removal& removal : long_removals()) removed.insert(removal.rule);
  for (const Rule& rule : all_rules()) EXPECT_TRUE(removed.contains(rule.name)) << rule.name;
  for (const sum::Rule& rule : sum::all_rules()) EXPECT_TRUE(removed.contains(rule.name)) << rule.name;
  for (const communicator::Rule& rule : communicator::all_rules())
    EXPECT_TRUE(removed.contains(rule.name)) << rule.name;
  for (const journal::Rule& rule : journal::all_rules()) EXPECT_TRUE(removed.contains(rule.name)) << rule.name;
  for (const rounds::Rule& rule : rounds::all_rules()) EXPECT_TRUE(removed.contains(rule.name)) << rule.name;
}

TEST(Searches, AreReadWordByWord) {
  const auto search = parse_step_search("microbatches 2 a 1 crash 2 without fence seconds 7");
  ASSERT_TRUE(search);
  EXPECT_EQ(search->scope.microbatches, 2);
  EXPECT_EQ(search->scope.replicas[0], 1);
  EXPECT_EQ(search->scope.budget[kCrash], 2);
  EXPECT_EQ(removed_rules(search->rules), std::vector<std::string_view>{"fence"});
  for (const char* wrong : {"crash", "crash x", "krash 1", "microbatches 3", "without sense"}) {
    EXPECT_FALSE(parse_step_search(wrong)) << wrong;
  }
  EXPECT_EQ(parse_sum_search("sum members 4 loss 2").value().scope.members, 4);
  for (const char* wrong : {"sum members 5", "sum steps 1", "sum without fence"}) {
    EXPECT_FALSE(parse_sum_search(wrong)) << wrong;
  }
  EXPECT_EQ(parse_communicator_search("communicator members 3 fail 1").value().scope.members, 3);
  for (const char* wrong : {"communicator members 4", "communicator loss 1", "communicator without fence"}) {
    EXPECT_FALSE(parse_communicator_search(wrong)) << wrong;
  }
  EXPECT_EQ(parse_journal_search("journal replicas 2 truncate 1").value().scope.replicas, 2);
  for (const char* wrong : {"journal replicas 3", "journal loss 1", "journal without fence"}) {
    EXPECT_FALSE(parse_journal_search(wrong)) << wrong;
  }
  EXPECT_EQ(parse_rounds_search("rounds quorum 2 leave 1").value().scope.quorum, 2);
  for (const char* wrong : {"rounds delay 2", "rounds loss 1", "rounds without fence"}) {
    EXPECT_FALSE(parse_rounds_search(wrong)) << wrong;
  }
}

TEST(Searches, OfTheLongTablesAreSearches) {
  const auto is_search = [](std::string_view line) {
    if (line.starts_with("communicator")) return parse_communicator_search(line).has_value();
    if (line.starts_with("journal")) return parse_journal_search(line).has_value();
    if (line.starts_with("rounds")) return parse_rounds_search(line).has_value();
    return line.starts_with("sum") ? parse_sum_search(line).has_value() : parse_step_search(line).has_value();
  };
  for (const FullSearch& full : long_searches()) EXPECT_TRUE(is_search(full.search)) << full.search;
  for (const Removal& removal : long_removals()) EXPECT_TRUE(is_search(line_of(removal))) << removal.rule;
}

TEST(Fingerprint, IsTheSameForTheNamesOfReplicasAndOfNothingElse) {
  const StepModel model(parse_step_search("microbatches 2 crash 1").value().scope, Rules{});
  State one = model.initial(), other = model.initial(), third = model.initial();
  one.replicas[0].ledger[1] = kInFlight;
  one.add(forward(0, 4, {0, 1, false}));
  other.replicas[1].ledger[0] = kInFlight;
  other.add(forward(1, 3, {0, 0, false}));
  third.replicas[0].ledger[1] = kInFlight;
  third.add(forward(1, 4, {0, 1, false}));
  EXPECT_EQ(model.fingerprint(one), model.fingerprint(other));
  EXPECT_NE(model.fingerprint(one), model.fingerprint(third));
}

TEST(Fingerprints, KeepWhatTheyWereGivenWhenTheyGrow) {
  Fingerprints set(16);
  for (std::uint64_t i = 1; i <= 1000; ++i) EXPECT_TRUE(set.insert(i * i));
  for (std::uint64_t i = 1; i <= 1000; ++i) EXPECT_TRUE(set.contains(i * i));
  EXPECT_FALSE(set.insert(81));
  EXPECT_FALSE(set.contains(82));
  EXPECT_EQ(set.size(), 1000U);
}

TEST(Walks, ThroughManyFaultsBreakNothing) {
  const char* line =
      "epochs 12 crash 1 suspect 1 retry 2 group 1 loader 1 "
      "join 1 abort 1 walks 60 seed 4";
  SCOPED_TRACE(line);
  const Outcome outcome = run_search(line).value().outcome;
  EXPECT_FALSE(outcome.broken) << *outcome.broken << "\n" << outcome.story;
  EXPECT_GT(outcome.ends, 0U);
}

TEST(Walks, FindWhatARemovedRuleBreaks) {
  const char* line = "epochs 12 retry 2 walks 2000 seed 1 safety without zero_on_twice";
  EXPECT_TRUE(run_search(line).value().outcome.broken);
}

}  // namespace
}  // namespace shoal::protocol::protocol_test
