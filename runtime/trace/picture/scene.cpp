// Chooses the window, lays out lanes, and tells lost work from work that was done again.
#include "runtime/trace/picture/scene.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/enumerate.h"
#include "runtime/trace/picture/moments.h"
#include "runtime/trace/picture/window.h"
#include "runtime/trace/report/endings.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/report/state_spans.h"
#include "runtime/trace/report/traced_journal.h"
#include "runtime/trace/report/work_spans.h"

namespace shoal {
namespace {

constexpr std::size_t kLinksMax = 600;  // more would be a grey cloud
constexpr std::size_t kTitleFaultsMax = 3;

std::optional<PieceKind> kind_of(std::string_view work) {
  if (work == "forward") return PieceKind::kForward;
  if (work == "loss") return PieceKind::kLoss;
  if (work == "backward") return PieceKind::kBackward;
  if (work == "contribute" || work == "adopt" || work == "zero") return PieceKind::kReduce;
  if (work == "apply") return PieceKind::kApply;
  if (work == "evaluate") return PieceKind::kEvaluate;
  if (work == "image" || work == "piece" || work == "load" || work == "load_piece" || work == "save") {
    return PieceKind::kState;
  }
  return std::nullopt;
}

bool is_of_microbatch(PieceKind kind) {
  return kind == PieceKind::kForward || kind == PieceKind::kLoss || kind == PieceKind::kBackward;
}

// The spawner first, then storage, then nodes by number.
auto rank_of(const std::string& process) {
  const int group = process == "spawner" ? 0 : process == "storage" ? 1 : 2;
  return std::tuple{group, process.size(), process};
}

using Errand = std::tuple<Branch, StepId, MicrobatchId, std::uint32_t>;  // and the stage

// Tells which replica each commit counts for which microbatch; and since when a replica is gone.
class Fates {
 public:
  explicit Fates(const TracedJournal& journal) {
    for (const auto& [position, entry] : journal.entries()) {
      if (entry.kind == EntryKind::kRemove) removed_ns_.try_emplace(Incarnation{entry.subject}, entry.time_ns);
      for (const auto& [stage, part] : entry.stages) {
        for (const TracedShare& share : part.shares) {
          for (const std::uint32_t index : share.microbatches) {
            counted_[{entry.branch, entry.step, MicrobatchId{index}, stage.value}] = share.member;
          }
        }
      }
    }
  }
  // Work that no commit counts is lost; what it made necessary is `again`: work of a microbatch that the replica which
  // a commit counts did after another one had done it.
  [[nodiscard]] PieceFate of(const WorkSpan& span) {
    const Errand errand{span.cause.branch, span.cause.step, span.cause.microbatch, span.cause.hop};
    const auto counted = counted_.find(errand);
    const bool is_counted = counted != counted_.end() && counted->second == span.incarnation;
    if (counted == counted_.end()) return PieceFate::kCounted;  // not committed yet: nobody can say
    if (!is_counted) {
      lost_.insert(errand);
      return PieceFate::kLost;
    }
    return lost_.contains(errand) ? PieceFate::kAgain : PieceFate::kCounted;
  }

 private:
  std::map<Errand, Incarnation> counted_;
  std::map<Incarnation, std::int64_t> removed_ns_;
  std::set<Errand> lost_;
};

// Chooses the steps that are committed after the begin. A commit at the very begin is of the step before them.
std::string steps_of(const Scene& scene) {
  const auto first = std::ranges::upper_bound(scene.commits, scene.begin_ns, {}, &SceneCommit::time_ns);
  if (first == scene.commits.end()) return "part of a run";
  if (first->label == scene.commits.back().label) return "step " + first->label;
  return "steps " + first->label + " to " + scene.commits.back().label;
}

// Adds the faults: "steps 2 to 11: node2 is killed, a replica ends".
std::string title_of(const Scene& scene) {
  std::string title = steps_of(scene);
  std::size_t told = 0;
  std::size_t more = 0;
  for (const SceneMoment& moment : scene.moments) {
    if (!moment.is_fault) continue;
    if (told == kTitleFaultsMax) {
      ++more;
    } else {
      title += (told++ == 0 ? ": " : ", ") + moment.text.substr(0, moment.text.find(':'));
    }
  }
  return more == 0 ? title : compose(title, ", and ", more, " more");
}

class Composer {
 public:
  Composer(const RunTrace& trace, const TracedJournal& journal, Scene scene)
      : trace_(trace), journal_(journal), scene_(std::move(scene)) {}

  Scene run() && {
    add_processes();
    add_phases();
    add_work();
    add_gaps();
    add_commits();
    tell_story();
    scene_.moments = moments_of(trace_, journal_, scene_.begin_ns, scene_.end_ns);
    if (scene_.title.empty()) scene_.title = title_of(scene_);
    return std::move(scene_);
  }

 private:
  using LaneKey = std::pair<std::string, std::pair<std::string, Incarnation>>;  // process, (actor, incarnation)

  [[nodiscard]] bool is_seen(std::int64_t begin_ns, std::int64_t end_ns) const {
    return end_ns >= scene_.begin_ns && begin_ns <= scene_.end_ns;
  }
  SceneProcess& process_of(const std::string& name) {
    return *std::ranges::find(scene_.processes, name, &SceneProcess::name);
  }
  std::pair<std::size_t, std::size_t> lane_of(const TracedActor& actor, Incarnation incarnation) {
    const auto process = std::ranges::find(scene_.processes, actor.process, &SceneProcess::name);
    const std::string number = incarnation.value == 0 ? "" : compose("#", incarnation);
    auto lane = std::ranges::find_if(
        process->lanes, [&](const SceneLane& one) { return one.name == actor.name && one.incarnation == number; });
    if (lane == process->lanes.end()) lane = process->lanes.insert(lane, SceneLane{actor.name, number, {}});
    return {static_cast<std::size_t>(process - scene_.processes.begin()),
            static_cast<std::size_t>(lane - process->lanes.begin())};
  }

  void add_processes();
  void add_phases();
  void add_work();
  void add_links(const std::vector<WorkSpan>& spans);
  void add_gaps();
  void add_commits();
  void tell_story();

  const RunTrace& trace_;
  const TracedJournal& journal_;
  Scene scene_;
  bool has_work_ = false;  // true: work of microbatches is somewhere in the trace
};

void Composer::add_processes() {
  std::set<std::string> names;
  for (const ProcessLife& life : trace_.lives) names.insert(life.name);
  for (const std::string& name : names) scene_.processes.push_back({name, {}, {}});
  std::ranges::sort(scene_.processes, {}, [](const SceneProcess& process) { return rank_of(process.name); });
}

void Composer::add_phases() {
  auto phases = group_phases(trace_, journal_);
  std::ranges::stable_sort(phases, {}, [this](const StateSpan& phase) { return trace_.actors[phase.actor].name; });
  for (const StateSpan& phase : phases) {
    if (!is_seen(phase.begin_ns, phase.end_ns)) continue;
    const auto [process, lane] = lane_of(trace_.actors[phase.actor], {});
    ScenePiece piece;
    piece.kind = PieceKind::kPhase;
    piece.begin_ns = phase.begin_ns;
    piece.end_ns = phase.end_ns;
    piece.label = phase.word;
    piece.tooltip = compose(phase.word, ", step ", phase.step, ": ", ms_text(phase.end_ns - phase.begin_ns));
    scene_.processes[process].lanes[lane].pieces.push_back(std::move(piece));
  }
}

void Composer::add_work() {
  Fates fates(journal_);
  const auto spans = work_spans(trace_);
  for (const WorkSpan& span : spans) {
    const auto kind = kind_of(span.word);
    if (!kind) continue;
    has_work_ = has_work_ || is_of_microbatch(*kind);
    const PieceFate fate = is_of_microbatch(*kind) ? fates.of(span) : PieceFate::kCounted;
    if (!is_seen(span.begin_ns, span.end_ns)) continue;
    const auto [process, lane] = lane_of(trace_.actors[span.actor], span.incarnation);
    ScenePiece piece{*kind, fate, span.begin_ns, span.end_ns, "", "", span.is_cut};
    const bool has_microbatch = is_of_microbatch(*kind) || *kind == PieceKind::kEvaluate;
    if (has_microbatch) piece.label = compose(span.cause.microbatch);
    piece.tooltip = compose(span.word, has_microbatch ? " of microbatch " + piece.label : "", ", step ",
                            span.cause.step, ": ", ms_text(span.end_ns - span.begin_ns), span.is_cut ? ", cut off" : "",
                            fate == PieceFate::kLost    ? ", lost"
                            : fate == PieceFate::kAgain ? ", done again"
                                                        : "");
    scene_.processes[process].lanes[lane].pieces.push_back(std::move(piece));
  }
  add_links(spans);
  for (SceneProcess& process : scene_.processes) {
    const bool shows_nothing = process.name == "storage" && process.lanes.empty();
    if (shows_nothing) process.name.clear();
  }
  std::vector<SceneProcess> shown;
  for (SceneProcess& process : scene_.processes) {
    if (!process.name.empty()) shown.push_back(std::move(process));
  }
  const std::size_t hidden = scene_.processes.size() - shown.size();
  for (SceneLink& link : scene_.links) link.from_process -= hidden, link.to_process -= hidden;  // nodes come last
  scene_.processes = std::move(shown);
}

void Composer::add_links(const std::vector<WorkSpan>& spans) {
  for (const WorkLink& link : work_links(trace_, spans)) {
    const WorkSpan& from = spans[link.from];
    const WorkSpan& to = spans[link.to];
    if (from.end_ns < scene_.begin_ns || to.begin_ns > scene_.end_ns || !kind_of(from.word) || !kind_of(to.word))
      continue;
    const auto [from_process, from_lane] = lane_of(trace_.actors[from.actor], from.incarnation);
    const auto [to_process, to_lane] = lane_of(trace_.actors[to.actor], to.incarnation);
    scene_.links.push_back(
        {from_process, from_lane, from.end_ns, to_process, to_lane, to.begin_ns, to.word != "backward"});
  }
  if (scene_.links.size() > kLinksMax) scene_.links.clear();
}

// Lives of one process follow each other in the list.
void Composer::add_gaps() {
  const auto ends = life_ends(trace_);
  for (std::size_t i = 0; i < trace_.lives.size(); ++i) {
    const ProcessLife& life = trace_.lives[i];
    const bool comes_back = i + 1 < trace_.lives.size() && trace_.lives[i + 1].name == life.name;
    const bool is_end_of_run = !comes_back && ends[i] != LifeEnd::kCutOff;
    SceneGap gap{life.end_ns, comes_back ? trace_.lives[i + 1].begin_ns : scene_.end_ns, comes_back};
    const auto process = std::ranges::find(scene_.processes, life.name, &SceneProcess::name);
    if (is_end_of_run || process == scene_.processes.end() || !is_seen(gap.begin_ns, gap.end_ns)) continue;
    process->gaps.push_back(gap);
  }
}

void Composer::add_commits() {
  for (const TracedEntry* commit : journal_.commits()) {
    if (!is_seen(commit->time_ns, commit->time_ns)) continue;
    scene_.commits.push_back({commit->time_ns, compose(commit->step), commit->is_skipped});
  }
}

struct NumbersInOrder {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
  }
};
using Words = std::set<std::string, NumbersInOrder>;

void Composer::tell_story() {
  Words lost;
  Words again;
  for (const SceneProcess& process : scene_.processes) {
    for (const SceneLane& lane : process.lanes) {
      for (const ScenePiece& piece : lane.pieces) {
        if (piece.fate == PieceFate::kLost) lost.insert(piece.label);
        if (piece.fate == PieceFate::kAgain) again.insert(process.name);
      }
    }
  }
  if (!has_work_) scene_.story = "no work is drawn: it is traced with trace.level=all";
  if (lost.empty()) return;
  scene_.story = compose(
      "what was done of ", lost.size() == 1 ? "microbatch " : "microbatches ", enumerate(lost), " is lost",
      again.empty() ? "" : "; " + enumerate(again) + (again.size() == 1 ? " computes" : " compute") + " it again",
      "; nothing is counted twice");
}

}  // namespace

Result<Scene> compose_scene(const RunTrace& trace, const PictureWindow& window) {
  const TracedJournal journal(trace);
  const auto chosen = choose_window(trace, journal, window);
  if (!chosen) return chosen.failure();
  Scene scene;
  scene.begin_ns = chosen->begin_ns;
  scene.end_ns = chosen->end_ns;
  scene.title = chosen->title;
  return Composer(trace, journal, std::move(scene)).run();
}

}  // namespace shoal
