// A disk that refuses lines for a while costs none of them; a line that is lost all the same is told in its place.
#include "runtime/trace/metrics/metrics_outbox.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "runtime/base/file.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::metrics_outbox_test {
namespace {

// While it lives no file of this process grows beyond so many bytes.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : on_excess_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, on_excess_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*on_excess_)(int);
};

constexpr WallTime kNow{std::chrono::seconds(1'764'000'000)};

// So many seconds after it, by a clock that was set by so many more.
BothClocks moment(int seconds, int set_by = 0) {
  return {kNow + std::chrono::seconds(seconds + set_by), Instant{} + std::chrono::seconds(seconds)};
}
const BothClocks kMoment = moment(0);

StepRecord record_of(std::uint64_t step) {
  StepRecord record;
  record.step = step;
  return record;
}

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::istringstream text(read_file(path).value());
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(MetricsOutbox, WritesWhatADiskRefusedForAWhileAndTellsOnceOfEach) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "metrics.jsonl").string();
  MetricsOutbox outbox(path);
  ASSERT_TRUE(outbox.open().ok());
  EXPECT_EQ(outbox.write(record_of(0), kMoment), std::nullopt);
  {
    const FullDisk full(std::filesystem::file_size(path) + 20);
    const auto refused = outbox.write(record_of(1), kMoment);
    ASSERT_TRUE(refused.has_value());
    EXPECT_NE(refused->find(path), std::string::npos) << *refused;
    EXPECT_EQ(outbox.write(record_of(2), kMoment), std::nullopt) << "it is said once";
    EXPECT_EQ(outbox.unwritten(), 2U);
    EXPECT_EQ(lines_of(path).size(), 1U) << "no torn line";
  }
  const auto again = outbox.write(record_of(3), kMoment);
  ASSERT_TRUE(again.has_value());
  EXPECT_NE(again->find("2 lines that waited are in it, 0 are lost"), std::string::npos) << *again;
  EXPECT_EQ(outbox.write(record_of(4), kMoment), std::nullopt);
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 5U);
  for (std::size_t step = 0; step < lines.size(); ++step) EXPECT_EQ(lines[step]["step"], step);
  EXPECT_EQ(outbox.unwritten(), 0U);
}

// Lines that had to wait say when they were given out, not when the disk took them.
TEST(MetricsOutbox, EveryLineSaysWhenItWasGivenOut) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "metrics.jsonl").string();
  MetricsOutbox outbox(path);
  const auto later = [](int seconds) { return kNow + std::chrono::seconds(seconds); };
  (void)outbox.write(record_of(0), moment(0));
  {
    const FullDisk full(std::filesystem::file_size(path) + 20);
    (void)outbox.write(EvalRecord{1, 2, 3}, moment(1));
    (void)outbox.write(RunEvent{RunEventKind::kSuspected, "node1", "a reason", 1}, moment(2));
  }
  (void)outbox.write(FinalRecord{}, moment(9));
  std::vector<std::string> times;
  for (const auto& line : lines_of(path)) times.push_back(line.at("at").get<std::string>());
  EXPECT_EQ(times, (std::vector<std::string>{utc_ms_text(later(0)), utc_ms_text(later(1)), utc_ms_text(later(2)),
                                             utc_ms_text(later(9))}));
}

TEST(MetricsOutbox, ALineSaysThatTheClockWasSetBeforeIt) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "metrics.jsonl").string();
  MetricsOutbox outbox(path);
  (void)outbox.write(record_of(0), moment(0));
  EXPECT_EQ(outbox.by_clock_of_last_line(moment(5, 3600)), kNow + std::chrono::seconds(5));
  (void)outbox.write(record_of(1), moment(10, 3600));
  (void)outbox.write(record_of(2), moment(20, 3600));
  EXPECT_EQ(outbox.by_clock_of_last_line(moment(25, 3600)), moment(25, 3600).wall);
  (void)outbox.write(record_of(3), moment(30, -60));
  std::vector<std::string> told;
  for (const auto& line : lines_of(path))
    told.push_back(line.contains("clock_set_ms") ? line["clock_set_ms"].dump() : "");
  EXPECT_EQ(told, (std::vector<std::string>{"", "3600000", "", "-3660000"}));
  EXPECT_EQ(lines_of(path)[1].at("at"), utc_ms_text(moment(10, 3600).wall)) << "the time is the clock's";
}

TEST(MetricsOutbox, OpensLaterAFileThatCouldNotBeOpened) {
  const Scratch scratch;
  const auto folder = scratch.path() / "not_there_yet";
  MetricsOutbox outbox((folder / "metrics.jsonl").string());
  EXPECT_FALSE(outbox.open().ok());
  EXPECT_NE(outbox.write(record_of(0), kMoment), std::nullopt);
  std::filesystem::create_directory(folder);
  EXPECT_NE(outbox.write(record_of(1), kMoment), std::nullopt);
  EXPECT_EQ(lines_of(outbox.path()).size(), 2U);
}

TEST(MetricsOutbox, KeepsABoundedPartAndTellsInItsPlaceWhatIsLost) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "metrics.jsonl").string();
  MetricsOutbox outbox(path);
  ASSERT_TRUE(outbox.open().ok());
  (void)outbox.write(record_of(0), kMoment);
  const std::uint64_t count = 40;
  {
    const FullDisk full(std::filesystem::file_size(path));
    for (std::uint64_t step = 1; step <= count; ++step) {
      (void)outbox.write(
          RunEvent{RunEventKind::kSuspected, "node1", std::string(MetricsOutbox::kWaitingBytesMax / 10, 'x'), step},
          kMoment);
    }
    EXPECT_EQ(outbox.unwritten(), count);
  }
  (void)outbox.write(record_of(count + 1), kMoment);
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[1]["event"], "lines_lost");
  EXPECT_EQ(lines[1]["step"], 31U);
  EXPECT_TRUE(lines[1]["reason"].get<std::string>().starts_with("31 lines ")) << lines[1];
  for (std::size_t i = 2; i < lines.size(); ++i) EXPECT_EQ(lines[i]["step"], 30 + i);
}

}  // namespace
}  // namespace shoal::metrics_outbox_test
