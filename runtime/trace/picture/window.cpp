// Deaths first: they are what a picture of this system is for.
#include "runtime/trace/picture/window.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/trace/report/endings.h"
#include "runtime/trace/report/quantities.h"

namespace shoal {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kEndOfRunNs = 300 * kMillisecond;  // a process that ends so close to the end goes with the run
constexpr std::size_t kStepsBefore = 1;                   // whole steps shown before the one that is disturbed
constexpr std::size_t kStepsAfter = 2;
constexpr std::size_t kStepsMax = 7;

using Commits = std::vector<const TracedEntry*>;

std::int64_t end_of(const RunTrace& trace) {
  std::int64_t end = 0;
  for (const ProcessLife& life : trace.lives) end = std::max(end, life.end_ns);
  return end;
}

// The first life that was cut off while the run went on.
const ProcessLife* first_death(const RunTrace& trace) {
  const std::int64_t last = end_of(trace) - kEndOfRunNs;
  const ProcessLife* first = nullptr;
  const auto ends = life_ends(trace);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const ProcessLife& life = trace.lives[i];
    if (ends[i] != LifeEnd::kCutOff || life.end_ns > last) continue;
    if (first == nullptr || life.end_ns < first->end_ns) first = &life;
  }
  return first;
}

// Returns when the same process was there again.
std::int64_t back_ns(const RunTrace& trace, const ProcessLife& dead) {
  for (const ProcessLife& life : trace.lives) {
    if (life.name == dead.name && life.begin_ns > dead.end_ns) return life.begin_ns;
  }
  return dead.end_ns;
}

// Index of the first commit at or after a time; the number of commits when there is none.
std::size_t commit_after(const Commits& commits, std::int64_t time_ns) {
  const auto found = std::ranges::find_if(commits, [&](const TracedEntry* one) { return one->time_ns >= time_ns; });
  return static_cast<std::size_t>(found - commits.begin());
}

// The time between the commits of two indices, with a little air.
ChosenWindow between(const Commits& commits, std::size_t first, std::size_t last, std::int64_t end_ns) {
  ChosenWindow window;
  window.begin_ns = first == 0 ? 0 : commits[first - 1]->time_ns;
  window.end_ns = last < commits.size() ? commits[last]->time_ns : end_ns;
  const std::int64_t air = (window.end_ns - window.begin_ns) / 60;
  window.begin_ns = std::max<std::int64_t>(0, window.begin_ns - air);
  window.end_ns = std::min(end_ns, window.end_ns + air);
  return window;
}

ChosenWindow around(const RunTrace& trace, const Commits& commits, const ProcessLife& dead) {
  const std::size_t disturbed = commit_after(commits, dead.end_ns);
  const std::size_t first = disturbed > kStepsBefore ? disturbed - kStepsBefore : 0;
  std::size_t last = disturbed + kStepsAfter;
  const std::int64_t back = back_ns(trace, dead);
  while (last < commits.size() && last - first < kStepsMax && commits[last]->time_ns < back) ++last;
  ChosenWindow window = between(commits, first, last, end_of(trace));
  const std::string step = disturbed < commits.size() ? compose(" in step ", commits[disturbed]->step) : "";
  window.title = compose(dead.name, " is killed", step);
  return window;
}

ChosenWindow middle(const RunTrace& trace, const Commits& commits) {
  const std::size_t half = commits.size() / 2;
  const std::size_t last = std::min(half + kStepsBefore, commits.empty() ? 0 : commits.size() - 1);
  ChosenWindow window = between(commits, half > kStepsBefore ? half - kStepsBefore : 0, last, end_of(trace));
  window.title = "undisturbed training";
  return window;
}

// A step begins where the one before it was committed.
Result<std::int64_t> time_of(const WindowBorder& border, const Commits& commits, bool is_begin) {
  if (border.seconds) return static_cast<std::int64_t>(std::llround(*border.seconds * 1e9));
  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (commits[i]->step != *border.step) continue;
    if (!is_begin) return commits[i]->time_ns;
    return i == 0 ? std::int64_t{0} : commits[i - 1]->time_ns;
  }
  return fail(Error::kUsage, compose("step ", *border.step, " is not committed in this trace"));
}

bool is_set(const WindowBorder& border) { return border.seconds || border.step; }

}  // namespace

Result<ChosenWindow> choose_window(const RunTrace& trace, const TracedJournal& journal, const PictureWindow& wanted) {
  const Commits commits = journal.commits();
  const ProcessLife* dead = first_death(trace);
  ChosenWindow window = dead == nullptr ? middle(trace, commits) : around(trace, commits, *dead);
  if (is_set(wanted.from)) {
    const auto begin = time_of(wanted.from, commits, true);
    if (!begin) return begin.failure();
    window.begin_ns = *begin;
  }
  if (is_set(wanted.to)) {
    const auto end = time_of(wanted.to, commits, false);
    if (!end) return end.failure();
    window.end_ns = *end;
  }
  if (is_set(wanted.from) || is_set(wanted.to)) window.title.clear();
  if (window.end_ns > window.begin_ns && window.begin_ns <= end_of(trace)) return window;
  return fail(Error::kUsage, compose("nothing was traced between ", seconds_text(window.begin_ns), " and ",
                                     seconds_text(window.end_ns), "; the run ends at ", seconds_text(end_of(trace))));
}

Result<WindowBorder> parse_border(const std::string& text) {
  WindowBorder border;
  const bool is_step = text.starts_with("step");
  const char* const begin = text.data() + (is_step ? 4 : 0);
  const char* const end = text.data() + text.size();
  if (is_step) {
    border.step.emplace();
    const auto read = std::from_chars(begin, end, border.step->value);
    if (read.ec == std::errc() && read.ptr == end) return border;
  } else {
    border.seconds.emplace();
    const auto read = std::from_chars(begin, end, *border.seconds);
    if (read.ec == std::errc() && read.ptr == end && std::isfinite(*border.seconds) && *border.seconds >= 0 &&
        *border.seconds < 1e9) {
      return border;
    }
  }
  return fail(Error::kUsage,
              "'" + text + "': expected seconds since the run began, as in 12.5, or a step, as in step12");
}

}  // namespace shoal
