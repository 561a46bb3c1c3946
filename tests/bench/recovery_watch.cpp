// Reads a file that another process writes; times are those of the reader.
#include "tests/bench/recovery_watch.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

namespace shoal {
namespace {

bool is_notice(const Seen& line) {
  if (line.is_step) return false;
  const auto says = [&line](const char* word) { return contains(line.text, word); };
  return says("\"process_lost\"") || says("\"stage_ended\"") || says("\"restarted\"") || says("\"resumed\"") ||
         says("\"spawner") || says("\"lost\"") || says("\"suspected\"") || says("\"actor_");
}

bool is_whole(const std::string& step) { return contains(step, "\"replicas\":[2,2]"); }

// One reading of all lines since the fault; what it has not found yet is 0.
class Story {
 public:
  Story(const Expected& expected, WatchClock::time_point began, double median_step_ms)
      : expected_(expected), began_(began), last_step_(began), median_step_ms_(median_step_ms) {}

  // Returns true once the run is whole.
  [[nodiscard]] bool tell(const Seen& line) {
    if (expected_.is_by_command && !is_ordered_ && contains(line.text, "\"injected\"")) {
      is_ordered_ = true;
      began_ = line.at + expected_.later;
    }
    const double since = ms_between(began_, line.at);
    if (outcome_.notice == 0 && is_notice(line)) outcome_.notice = std::max(since, 0.1);
    const bool fences = contains(line.text, "removed from stage");
    if (expected_.removes_a_replica && outcome_.fence == 0 && fences) outcome_.fence = since;
    if (!line.is_step) return false;
    outcome_.stall = std::max(outcome_.stall, ms_between(last_step_, line.at) - median_step_ms_);
    last_step_ = line.at;
    outcome_.again += static_cast<double>(number_of(line.text, "retried"));
    const bool is_known = !expected_.is_noticed || outcome_.notice > 0;
    const bool is_fenced = !expected_.removes_a_replica || outcome_.fence > 0;
    if (is_known && is_fenced && outcome_.commit == 0) outcome_.commit = since;
    if (outcome_.commit == 0 || !is_whole(line.text)) return false;
    outcome_.whole = since;
    whole_at_ = line.at;
    return true;
  }
  [[nodiscard]] Outcome outcome(WatchClock::time_point fault_over) const {
    Outcome told = outcome_;
    told.back = std::max(0.0, ms_between(fault_over, whole_at_));
    return told;
  }

 private:
  const Expected& expected_;
  WatchClock::time_point began_;
  WatchClock::time_point last_step_;
  WatchClock::time_point whole_at_;
  double median_step_ms_;
  bool is_ordered_ = false;
  Outcome outcome_;
};

}  // namespace

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::uint64_t number_of(const std::string& line, const std::string& key) {
  const std::string named = "\"" + key + "\":";
  const auto at = line.find(named);
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at + named.size(), nullptr, 10);
}

double ms_between(WatchClock::time_point from, WatchClock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

void Watcher::look() {
  std::ifstream file(file_);
  file.seekg(offset_);
  std::string line;
  while (std::getline(file, line) && !file.eof()) {  // a line without its newline is not there yet
    offset_ = file.tellg();
    const bool is_step = contains(line, "\"step_ms\":");
    steps_ += is_step ? 1U : 0U;
    seen_.push_back({WatchClock::now(), line, is_step});
  }
}

bool Watcher::wait(const std::function<bool()>& is_true, Milliseconds limit) {
  return wait_until(
      [&] {
        look();
        return is_true();
      },
      limit);
}

bool Watcher::wait_for_steps(std::size_t more) {
  const std::size_t wanted = steps_ + more;
  return wait([&] { return steps_ >= wanted; }, std::chrono::seconds(120));
}

double Watcher::median_step_ms() const {
  std::vector<double> gaps;
  const Seen* before = nullptr;
  for (const Seen& line : seen_) {
    if (!line.is_step) continue;
    if (before != nullptr) gaps.push_back(ms_between(before->at, line.at));
    before = &line;
  }
  std::sort(gaps.begin(), gaps.end());
  return gaps.empty() ? 0 : gaps[gaps.size() / 2];
}

std::uint64_t Watcher::steps_lost() const {
  std::uint64_t lost = 0;
  std::uint64_t next = 0;
  for (const Seen& line : seen_) {
    if (!line.is_step) continue;
    const std::uint64_t step = number_of(line.text, "step");
    if (step < next) lost += next - step;
    next = step + 1;
  }
  return lost;
}

std::optional<Outcome> suffer(Watcher& watcher, const std::function<void()>& inject, const Expected& expected,
                              Milliseconds limit) {
  watcher.look();
  const std::size_t first = watcher.seen().size();
  const double median_step_ms = watcher.median_step_ms();
  const auto began = WatchClock::now();
  std::atomic<bool> is_over = false;
  WatchClock::time_point over_at;
  std::thread injector([&] {
    inject();
    over_at = WatchClock::now();
    is_over = true;
  });
  std::optional<Outcome> outcome;
  const auto follow = [&] {
    Story story(expected, began, median_step_ms);
    for (std::size_t i = first; i < watcher.seen().size(); ++i) {
      const bool is_whole = story.tell(watcher.seen()[i]);
      const bool is_past = !expected.lasts || (is_over && watcher.seen()[i].at >= over_at);
      if (is_whole && is_past) outcome = story.outcome(expected.lasts ? over_at : began);
      if (outcome) return true;
    }
    return false;
  };
  (void)watcher.wait(follow, limit);
  injector.join();
  return outcome;
}

}  // namespace shoal
