// First where the story lies in time, then what is in there, then what was said of it before.
#include "runtime/trace/report/story/story_events.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/trace/report/traced_journal.h"
#include "runtime/trace/run_event_detail.h"

namespace shoal {
namespace {

bool is_word_of_microbatch(std::string_view word) {
  const std::string_view name = word.substr(0, word.find(' '));
  const bool is_training = word.find("evaluate") == std::string_view::npos;
  return is_training &&
         (name == "Forward" || name == "Backward" || name == "Refusal" || name == "Ask" || name == "AskAnswer");
}

bool is_work_of_microbatch(std::string_view word) { return word == "forward" || word == "loss" || word == "backward"; }

// A stretch of time; empty at first.
struct Stretch {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();

  void add(std::int64_t time_ns) {
    begin_ns = std::min(begin_ns, time_ns);
    end_ns = std::max(end_ns, time_ns);
  }
  [[nodiscard]] bool has(std::int64_t time_ns) const { return begin_ns <= time_ns && time_ns <= end_ns; }
};

// Takes the events of all pieces, in three rounds.
class Picking {
 public:
  Picking(const EventPieces& pieces, MicrobatchName name) : pieces_(pieces), name_(name) {}

  Result<RunTrace> picked() {
    if (auto status = each([this](const TracedEvent& traced, std::uint64_t) { find(traced); }); !status) {
      return status.failure();
    }
    stretch_to_commits();
    const auto meet = [this](const TracedEvent& traced, std::uint64_t) {
      if (is_entry(traced.event) && is_meanwhile(traced)) positions_.insert(traced.event.cause.position);
    };
    if (auto status = each(meet); !status) return status.failure();
    const auto keep = [this](const TracedEvent& traced, std::uint64_t number) {
      if (is_wanted(traced)) kept_.emplace_back(traced, number);
    };
    if (auto status = each(keep); !status) return status.failure();
    return in_order();
  }

 private:
  Status each(const EventPieces::Take& take) const {
    for (std::size_t piece = 0; piece < pieces_.topics().size(); ++piece) {
      if (auto status = pieces_.read(piece, take); !status) return status;
    }
    return Done{};
  }

  [[nodiscard]] bool is_plan(const TraceEvent& event) const {
    return event.kind == TraceKind::kPlan && event.cause.step == name_.step;
  }
  [[nodiscard]] bool is_commit(const TraceEvent& event) const {
    return event.kind == TraceKind::kCommit && event.cause.step == name_.step;
  }

  void find(const TracedEvent& traced) {
    const TraceEvent& event = traced.event;
    if (is_plan(event) || is_of(event, name_)) stretches_[event.cause.branch].add(traced.time_ns);
    if (is_commit(event)) commits_.emplace_back(event.cause.branch, traced.time_ns);
    // Another record than this one may count at its position: all of them are wanted.
    const bool is_added = is_entry(event) && event.detail_text() == "AddReplica";
    if (is_added || is_commit(event)) positions_.insert(event.cause.position);
  }

  // A branch of which nothing but a commit is there has no story.
  void stretch_to_commits() {
    for (const auto& [branch, time_ns] : commits_) {
      const auto found = stretches_.find(branch);
      if (found != stretches_.end()) found->second.add(time_ns + kAfterCommitNs);
    }
  }

  [[nodiscard]] bool is_meanwhile(const TracedEvent& traced) const {
    return std::ranges::any_of(stretches_, [&](const auto& entry) { return entry.second.has(traced.time_ns); });
  }

  // Says how a life ended (endings.h).
  [[nodiscard]] static bool is_about_an_end(const TraceEvent& event) {
    if (event.kind == TraceKind::kView) return event.detail_text().starts_with("FinishRun");
    if (event.kind != TraceKind::kNote) return false;
    const auto told = run_event_of(event.detail_text());
    return told && told->kind == RunEventKind::kProcessLeft;
  }

  [[nodiscard]] bool is_wanted(const TracedEvent& traced) const {
    const TraceEvent& event = traced.event;
    if (is_of(event, name_) || is_plan(event) || is_meanwhile(traced) || is_about_an_end(event)) return true;
    const bool is_of_an_entry =
        is_entry(event) || event.kind == TraceKind::kStageCommit || event.kind == TraceKind::kManifest;
    if (!is_of_an_entry) return false;
    return positions_.contains(event.cause.position);
  }

  RunTrace in_order() {
    std::ranges::sort(kept_, {}, [](const auto& one) { return std::pair(one.first.time_ns, one.second); });
    RunTrace trace{pieces_.frame().lives, pieces_.frame().actors, {}};
    trace.events.reserve(kept_.size());
    for (auto& [traced, number] : kept_) trace.events.push_back(std::move(traced));
    return trace;
  }

  const EventPieces& pieces_;
  MicrobatchName name_;
  std::map<Branch, Stretch> stretches_;
  std::vector<std::pair<Branch, std::int64_t>> commits_;
  std::set<JournalPosition> positions_;  // of commits, of added replicas, and of what was recorded meanwhile
  std::vector<std::pair<TracedEvent, std::uint64_t>> kept_;  // with their numbers
};

}  // namespace

bool names_microbatch(const TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::kSend:
    case TraceKind::kReceive:
    case TraceKind::kDrop: return is_word_of_microbatch(event.detail_text());
    case TraceKind::kStart: return is_work_of_microbatch(event.detail_text());
    case TraceKind::kEnd:
    case TraceKind::kAccumulate:
    case TraceKind::kPath: return true;
    default: return false;
  }
}

bool is_of(const TraceEvent& event, MicrobatchName name) {
  return event.cause.step == name.step && event.cause.microbatch == name.microbatch && names_microbatch(event);
}

Result<RunTrace> events_of_story(const EventPieces& pieces, MicrobatchName name) {
  return Picking(pieces, name).picked();
}

}  // namespace shoal
