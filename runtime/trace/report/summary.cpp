// Counts, sums and shares.
#include "runtime/trace/report/summary.h"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/trace/report/endings.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/report/state_spans.h"
#include "runtime/trace/report/traced_journal.h"
#include "runtime/trace/report/work_spans.h"

namespace shoal {
namespace {

constexpr std::size_t kHappeningsMax = 40;

// Rows under a headline; the first column is left-aligned, all others are numbers.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) : rows_{std::move(heads)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool is_empty() const { return rows_.size() < 2; }
  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::ostringstream out;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        out << (i == 0 ? "  " : "   ") << (i == 0 ? std::left : std::right) << std::setw(static_cast<int>(widths[i]))
            << row[i];
      }
      out << '\n';
    }
    return std::move(out).str();
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

struct Amount {
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t lost = 0;
  std::vector<std::int64_t> times_ns{};

  void add(std::int64_t ns) { ++count, total_ns += ns, times_ns.push_back(ns); }
  [[nodiscard]] std::int64_t mean_ns() const {
    return times_ns.empty() ? 0 : total_ns / static_cast<std::int64_t>(times_ns.size());
  }
  // The time that one in a hundred exceeds.
  [[nodiscard]] std::int64_t high_ns() {
    if (times_ns.empty()) return 0;
    const std::size_t place = times_ns.size() * 99 / 100;
    std::ranges::nth_element(times_ns, times_ns.begin() + static_cast<std::ptrdiff_t>(place));
    return times_ns[place];
  }
};

// A process that ends in order closes its links, and its peers see that: nothing was lost.
bool is_parting(const RunTrace& trace, const std::vector<LifeEnd>& ends, const TracedEvent& traced) {
  static constexpr std::string_view kWords[] = {"lost: closed", "lost: the peer closed it", "lost: the peer has left"};
  const std::string_view told = traced.event.detail_text();
  const bool is_said = std::ranges::any_of(kWords, [&](std::string_view words) { return told.starts_with(words); });
  if (traced.event.kind != TraceKind::kLink || !is_said) return false;
  for (std::size_t i = 0; i < trace.lives.size(); ++i) {
    const bool is_near = std::abs(traced.time_ns - trace.lives[i].end_ns) <= kPartingNs;
    if (is_orderly(ends[i]) && is_near) return true;
  }
  return false;
}

std::string_view words_of(LifeEnd end) {
  switch (end) {
    case LifeEnd::kCutOff: return "cut off";
    case LifeEnd::kInOrder: return "in order";
    case LifeEnd::kNotTold: return "not known";
    case LifeEnd::kLeft: break;
  }
  return "left, as asked";
}

std::string processes_text(const RunTrace& trace) {
  const auto ends = life_ends(trace);
  Table table({"process", "from", "to", "end", "events lost", "clock ahead of it by"});
  for (std::size_t i = 0; i < trace.lives.size(); ++i) {
    const ProcessLife& life = trace.lives[i];
    table.add({life.name, seconds_text(life.begin_ns), seconds_text(life.end_ns), std::string(words_of(ends[i])),
               std::to_string(life.dropped), text_of(life.clock)});
  }
  return table.text();
}

// Between an actor's first and last event.
std::map<std::uint32_t, std::int64_t> lifetimes(const RunTrace& trace) {
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> ends;
  for (const TracedEvent& traced : trace.events) {
    const auto [known, is_first] = ends.try_emplace(traced.actor, traced.time_ns, traced.time_ns);
    known->second.second = std::max(known->second.second, traced.time_ns);
  }
  std::map<std::uint32_t, std::int64_t> out;
  for (const auto& [actor, end] : ends) out[actor] = std::max<std::int64_t>(1, end.second - end.first);
  return out;
}

std::string work_text(const RunTrace& trace) {
  std::map<std::pair<std::string, std::string>, Amount> work;  // actor, kind of work
  std::map<std::pair<std::string, std::string>, std::int64_t> lived;
  const auto lifetime = lifetimes(trace);
  for (const WorkSpan& span : work_spans(trace)) {
    const TracedActor& actor = trace.actors[span.actor];
    const std::pair key{actor.name + " in " + actor.process, span.word};
    Amount& amount = work[key];
    amount.add(span.end_ns - span.begin_ns);
    amount.lost += span.is_cut ? 1 : 0;
    lived[key] = lifetime.at(span.actor);
  }
  Table table({"actor and work", "times", "total", "mean", "99 %", "share of its time", "cut off"});
  for (auto& [key, amount] : work) {
    const double share = static_cast<double>(amount.total_ns) / static_cast<double>(lived.at(key));
    table.add({key.first + ": " + key.second, std::to_string(amount.count), seconds_text(amount.total_ns),
               ms_text(amount.mean_ns()), ms_text(amount.high_ns()), percent_text(share), std::to_string(amount.lost)});
  }
  return table.is_empty() ? "  (work is traced with trace.level=all)\n" : table.text();
}

std::string letters_text(const RunTrace& trace) {
  std::map<std::string, Amount> letters;
  for (const TracedLetter& letter : letters_of(trace)) {
    const TracedEvent& sent = trace.events[letter.sent];
    Amount& amount = letters[std::string(sent.event.detail_text())];
    amount.bytes += sent.event.bytes;
    if (letter.arrived) {
      amount.add(trace.events[*letter.arrived].time_ns - sent.time_ns);
    } else {
      ++amount.count;
      ++amount.lost;
    }
  }
  Table table({"letter", "sent", "tensors", "mean on the way", "99 %", "never arrived"});
  std::uint64_t lost = 0;
  for (auto& [word, amount] : letters) {
    lost += amount.lost;
    table.add({word, std::to_string(amount.count), bytes_text(amount.bytes), ms_text(amount.mean_ns()),
               ms_text(amount.high_ns()), std::to_string(amount.lost)});
  }
  if (table.is_empty()) return "  (letters are traced with trace.level=all)\n";
  return table.text() +
         (lost == 0 ? "" : "  (letters to processes whose traces are not here count as never arrived)\n");
}

// Time from one commit to the next, in parts that follow one another.
struct Anatomy {
  std::uint64_t steps = 0;
  std::int64_t plan_ns = 0;      // commit before -> first microbatch sent: apply, evaluation, checkpoint
  std::int64_t pipeline_ns = 0;  // -> last answer
  std::int64_t prepare_ns = 0;   // -> last stage told to reduce: hints, freeze, manifests
  std::int64_t reduce_ns = 0;    // -> last vote
  std::int64_t commit_ns = 0;    // -> durable
  [[nodiscard]] std::int64_t total_ns() const { return plan_ns + pipeline_ns + prepare_ns + reduce_ns + commit_ns; }
};

Anatomy anatomy_of(const std::vector<StepTimes>& steps) {
  Anatomy sum;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const StepTimes& step = steps[i];
    const bool follows = step.branch == steps[i - 1].branch && step.life == steps[i - 1].life;
    const bool is_whole = step.planned_ns != 0 && step.answered_ns != 0 && step.reducing_ns != 0 && step.voted_ns != 0;
    if (!follows || !is_whole) continue;
    const std::int64_t before = steps[i - 1].committed_ns;
    const std::int64_t planned = std::max(before, step.planned_ns);
    const std::int64_t answered = std::max(planned, step.answered_ns);
    const std::int64_t reducing = std::max(answered, step.reducing_ns);
    const std::int64_t voted = std::max(reducing, step.voted_ns);
    const std::int64_t committed = std::max(voted, step.committed_ns);
    ++sum.steps;
    sum.plan_ns += planned - before;
    sum.pipeline_ns += answered - planned;
    sum.prepare_ns += reducing - answered;
    sum.reduce_ns += voted - reducing;
    sum.commit_ns += committed - voted;
  }
  return sum;
}

std::string steps_text(const std::vector<StepTimes>& steps) {
  const Anatomy sum = anatomy_of(steps);
  const bool is_traced = std::ranges::any_of(steps, [](const StepTimes& step) { return step.answered_ns != 0; });
  if (!steps.empty() && !is_traced) return "  (steps are traced with trace.level=all)\n";
  if (sum.steps == 0) return "  (no two whole steps in a row)\n";
  Table table({"part of a step", "mean", "share"});
  const auto add = [&](const std::string& part, std::int64_t ns) {
    const double share = static_cast<double>(ns) / static_cast<double>(std::max<std::int64_t>(1, sum.total_ns()));
    table.add({part, ms_text(ns / static_cast<std::int64_t>(sum.steps)), percent_text(share)});
  };
  add("commit before to first microbatch (apply, evaluation, checkpoint)", sum.plan_ns);
  add("pipeline: first microbatch to last answer", sum.pipeline_ns);
  add("prepare: to the last order to reduce (freeze, manifests)", sum.prepare_ns);
  add("reduce: to the last vote", sum.reduce_ns);
  add("commit: vote to durable entry", sum.commit_ns);
  add("whole", sum.total_ns());
  return table.text() + compose("  (mean of ", sum.steps, " of ", steps.size(),
                                " committed steps; groups that reduce beside the pipeline cost it nothing)\n");
}

// Links that come up befall nobody.
bool is_told(const TraceEvent& event) {
  if (event.kind == TraceKind::kLink) return event.detail_text() != "up" && event.detail_text() != "lane up";
  return event.kind == TraceKind::kFault || event.kind == TraceKind::kRestart || event.kind == TraceKind::kRollBack;
}

// A run leaves a branch once. A spawner that is killed before the new one has members says so, and so does the next.
std::string happenings_text(const RunTrace& trace) {
  std::map<std::string, std::uint64_t> counts;
  std::vector<std::string> lines;
  std::set<Branch> left;
  const auto ends = life_ends(trace);
  for (const TracedEvent& traced : trace.events) {
    const TraceEvent& event = traced.event;
    if (is_parting(trace, ends, traced)) continue;
    const bool is_again = event.kind == TraceKind::kRollBack && !left.insert(event.cause.branch).second;
    const bool is_counted = (is_told(event) && !is_again) || event.kind == TraceKind::kDrop;
    if (is_counted) ++counts[std::string(text_of(event.kind))];
    if (!is_told(event)) continue;
    lines.push_back(compose("  ", seconds_text(traced.time_ns), "  ", trace.life_of(traced).name, ", ",
                            trace.actor_of(traced), ": ", text_of(event.kind), ", ", event.detail_text(),
                            is_again ? ", begun again" : "", "\n"));
  }
  std::string text;
  for (const auto& [word, count] : counts) text += compose(text.empty() ? "  " : ", ", word, " ", count);
  text += text.empty() ? "  nothing\n" : "\n";
  for (std::size_t i = 0; i < std::min(lines.size(), kHappeningsMax); ++i) text += lines[i];
  if (lines.size() > kHappeningsMax) text += compose("  ... and ", lines.size() - kHappeningsMax, " more\n");
  return text;
}

}  // namespace

std::string summary_text(const RunTrace& trace) {
  const TracedJournal journal(trace);
  const auto steps = step_times(trace, journal);
  std::int64_t end_ns = 0;
  for (const ProcessLife& life : trace.lives) end_ns = std::max(end_ns, life.end_ns);
  return compose(trace.events.size(), " events of ", trace.lives.size(), " process lives over ", seconds_text(end_ns),
                 "; ", steps.size(), " steps committed\n\nPROCESSES\n", processes_text(trace), "\nSTEPS\n",
                 steps_text(steps), "\nWORK\n", work_text(trace), "\nLETTERS\n", letters_text(trace),
                 "\nFAULTS, RESTARTS, DROPS\n", happenings_text(trace));
}

}  // namespace shoal
