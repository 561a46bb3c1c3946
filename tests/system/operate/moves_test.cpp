// Replicas that move to the stages that need them: four stages begin with 5, 1, 1 and 1 paced replicas and end with two
// each, and the weights are those of one process, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/support/process_scene.h"

namespace shoal::moves_test {
namespace {

using testing::HasSubstr;

constexpr Milliseconds kLongest{120'000};

class Moves : public testing::Test {
 protected:
  void train_unbalanced(const std::string& every_s) {
    run_ = {4,
            1,
            36,
            {"sync.reduction=exact", "batch.sequences=12", "batch.microbatch=1", "pipeline.replicas=[5,1,1,1]",
             "swarm.rebalance_every_s=" + every_s}};
    std::vector<std::string> words{"spawner", "--out", scene_.run().string()};
    for (auto& word : settings_of(scene_, run_)) words.push_back(std::move(word));
    spawner_ = &scene_.start(std::move(words));
    const auto join = wait_for_join_words(*spawner_);
    ASSERT_FALSE(join.empty()) << spawner_->err();
    for (int node = 1; node <= 8; ++node) {
      auto node_words = join;
      node_words.insert(node_words.end(), {"--name", "node" + std::to_string(node), "--device", "paced:12"});
      scene_.start(std::move(node_words));
    }
    ASSERT_EQ(spawner_->wait(kLongest), 0) << spawner_->err();
    ASSERT_EQ(scene_.run_to_end(train(scene_, "single", run_, {"--single"})), 0);
    records_ = scene_.records();
  }
  [[nodiscard]] auto count_of(const std::string& event) const {
    return std::ranges::count(records_.events, event, &EventLine::event);
  }
  [[nodiscard]] std::string last_step() const { return records_.steps.back().text; }

  ProcessScene scene_;
  SmallRun run_;
  Program* spawner_ = nullptr;
  RunRecords records_;
};

TEST_F(Moves, BalanceTheStagesAndKeepTheBits) {
  train_unbalanced("1");
  if (HasFatalFailure()) return;
  EXPECT_THAT(records_.steps.front().text, HasSubstr(R"("replicas":[5,1,1,1])"));
  EXPECT_THAT(last_step(), HasSubstr(R"("replicas":[2,2,2,2])"));
  EXPECT_EQ(count_of("moved"), 3);
  EXPECT_EQ(count_of("moving"), 3) << "nobody moves to and fro";
  EXPECT_EQ(count_of("rolled_back"), 0);
  EXPECT_EQ(records_.weights(), scene_.records("single").weights());
  EXPECT_EQ(scene_.run_to_end({"trace", "check", scene_.run().string()}), 0);
}

TEST_F(Moves, DoNotHappenWithoutAPeriod) {
  train_unbalanced("0");
  if (HasFatalFailure()) return;
  EXPECT_THAT(last_step(), HasSubstr(R"("replicas":[5,1,1,1])"));
  EXPECT_EQ(count_of("moving"), 0);
  EXPECT_EQ(records_.weights(), scene_.records("single").weights());
  run_.steps -= 1;
  ASSERT_EQ(scene_.run_to_end(train(scene_, "shorter", run_, {"--single"})), 0);
  EXPECT_NE(records_.weights(), scene_.records("shorter").weights()) << "the control: other bits are seen";
}

}  // namespace
}  // namespace shoal::moves_test
