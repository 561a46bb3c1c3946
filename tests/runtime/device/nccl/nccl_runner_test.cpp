// Runners hand sums to their own threads; what comes of them is told from there.
#include "runtime/device/nccl/nccl_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "tests/runtime/device/nccl/nccl_bench.h"

namespace shoal::nccl_runner_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

// Threads read it while the test moves it.
class SharedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    ++looks;
    return Instant(Duration(ticks_));
  }
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override { return {}; }
  void advance(Duration time) { ticks_ += time.count(); }
  mutable std::atomic<int> looks = 0;

 private:
  std::atomic<Duration::rep> ticks_ = Duration(1h).count();
};

using MakeMemory = std::function<std::unique_ptr<CollectiveMemory>()>;
MakeMemory host_memory() {
  return [library = tests_library()] { return make_host_memory(library); };
}

// A member with a runner, and what it was told.
class Member {
 public:
  explicit Member(MakeMemory make_memory = host_memory()) {
    NcclRunnerSettings settings;
    settings.library = tests_library();
    settings.make_memory = std::move(make_memory);
    settings.tell = [this](CollectiveNews news) {
      const std::lock_guard lock(mutex_);
      news_.push_back(std::move(news));
    };
    settings.end_process = [this](const std::string& reason) {
      const std::lock_guard lock(mutex_);
      ended_ = reason;
    };
    settings.patience = 3s;
    settings.clock = clock;
    runner_ = run_nccl(std::move(settings));
  }

  void begin(std::uint32_t rank, const std::string& id, const TensorBlob& contribution, std::uint32_t epoch = 1) {
    runner_->hand_in(CollectiveSum{order_of(epoch), order_of(epoch).epoch, rank, 2, id, contribution});
  }
  void drop() { runner_->hand_in(CollectiveDrop{}); }
  [[nodiscard]] std::optional<CollectiveNews> next() {
    std::optional<CollectiveNews> news;
    EXPECT_TRUE(comes_true([&] { return (news = take()).has_value(); }));
    return news;
  }
  [[nodiscard]] std::optional<CollectiveNews> take() {
    const std::lock_guard lock(mutex_);
    if (news_.empty()) return std::nullopt;
    auto first = std::move(news_.front());
    news_.pop_front();
    return first;
  }
  [[nodiscard]] std::string ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

  std::shared_ptr<SharedClock> clock = std::make_shared<SharedClock>();

 private:
  std::mutex mutex_;
  std::deque<CollectiveNews> news_;
  std::string ended_;
  std::unique_ptr<CollectiveRunner> runner_;  // last: its threads use the others
};

TEST(NcclRunner, TellsOfTheIdAndOfTheSum) {
  const PlantedFolder folder;
  const auto contributions = random_integers(2, 100, 1);
  Member first;
  Member second;
  first.begin(0, {}, contributions[0]);
  const auto made = first.next();
  ASSERT_TRUE(made && std::holds_alternative<CollectiveIdMade>(*made));
  EXPECT_EQ(std::get<CollectiveIdMade>(*made).id.size(), kCollectiveIdBytes);
  second.begin(1, std::get<CollectiveIdMade>(*made).id, contributions[1]);
  const auto sum = first.next();
  const auto same = second.next();
  ASSERT_TRUE(sum && std::holds_alternative<CollectiveSummed>(*sum));
  ASSERT_TRUE(same && std::holds_alternative<CollectiveSummed>(*same));
  EXPECT_EQ(std::get<CollectiveSummed>(*sum).sum, std::get<CollectiveSummed>(*same).sum);
  const auto expected = contributions[0].as<std::uint64_t>()[7] + contributions[1].as<std::uint64_t>()[7];
  EXPECT_EQ(std::get<CollectiveSummed>(*sum).sum.as<std::uint64_t>()[7], expected);
}

// Nobody else comes: the member waits until it is told otherwise.
TEST(NcclRunner, IsSilentAboutWhatWasDropped) {
  const PlantedFolder folder;
  const auto contributions = random_integers(2, 100, 1);
  Member first;
  first.begin(0, {}, contributions[0]);
  const auto made = first.next();
  first.drop();
  Member second;
  first.begin(0, {}, contributions[0], 2);
  const auto again = first.next();
  ASSERT_TRUE(again && std::holds_alternative<CollectiveIdMade>(*again));
  EXPECT_EQ(std::get<CollectiveIdMade>(*again).order, order_of(2));
  second.begin(1, std::get<CollectiveIdMade>(*again).id, contributions[1], 2);
  const auto sum = first.next();
  ASSERT_TRUE(sum && std::holds_alternative<CollectiveSummed>(*sum));
  EXPECT_EQ(std::get<CollectiveSummed>(*sum).order, order_of(2));
}

// A device without memory, say. The next sum asks for it again.
TEST(NcclRunner, AFailureToMakeMemoryIsTheSumsFailure) {
  const PlantedFolder folder;
  const auto contribution = random_integers(2, 100, 1)[0];
  int asked = 0;
  Member member([&asked, make = host_memory()] {
    if (++asked <= 2) throw std::runtime_error("CUDA out of memory, as planted\nand where it was");
    return make();
  });
  member.drop();  // of which nothing is to be told
  for (const std::uint32_t epoch : {1, 2}) {
    member.begin(0, {}, contribution, epoch);
    const auto news = member.next();
    ASSERT_TRUE(news && std::holds_alternative<CollectiveFailed>(*news));
    const auto& failed = std::get<CollectiveFailed>(*news);
    EXPECT_EQ(failed.order, order_of(epoch));
    EXPECT_THAT(failed.reason, HasSubstr("CUDA out of memory, as planted"));
    EXPECT_THAT(failed.reason, Not(HasSubstr("where it was")));
    EXPECT_FALSE(failed.is_for_good);
  }
  member.begin(0, {}, contribution, 3);
  const auto made = member.next();
  EXPECT_TRUE(made && std::holds_alternative<CollectiveIdMade>(*made)) << "control";
  EXPECT_EQ(asked, 3) << "a drop needs no memory";
  EXPECT_EQ(member.ended(), "");
}

TEST(NcclRunner, EndsAProcessWhoseLibraryDoesNotComeBack) {
  const PlantedFolder folder;
  Member first;
  first.begin(0, {}, random_integers(2, 100, 1)[0]);
  ASSERT_TRUE(first.next());
  EXPECT_EQ(first.ended(), "") << "control: it waits for a member, and its library does not hang";
  planted::plant("abort_hangs");
  first.drop();
  const int looks = first.clock->looks;
  EXPECT_TRUE(comes_true([&] {
    first.clock->advance(1h);
    return !first.ended().empty();
  }));
  EXPECT_THAT(first.ended(), HasSubstr("NCCL hangs: a call that should not wait has not come back in 3 s"));
  EXPECT_GE(first.clock->looks - looks, 4) << "an hour in which the process did not look counts as a second";
  planted::remove("abort_hangs");
}

}  // namespace
}  // namespace shoal::nccl_runner_test
