// Scene of a run's picture, before anything is drawn: which part of the run, which lanes, which pieces of work on them,
// and what is marked.
//
// Lanes are grouped by process: the spawner's sync groups, storage where it works, and each node's replicas, one lane
// per replica. Work that a dead replica had accumulated for a step which then was committed without it is `lost`; the
// same microbatches computed elsewhere afterwards are `again`: that is the picture's story.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

// A border of the window: seconds since the run began, or a step.
struct WindowBorder {
  std::optional<double> seconds;
  std::optional<StepId> step;
};
// Part of the run that is shown. A border not given is chosen: around the first death of a process, else the middle.
struct PictureWindow {
  WindowBorder from;
  WindowBorder to;
};

enum class PieceKind : std::uint8_t { kForward, kLoss, kBackward, kReduce, kApply, kEvaluate, kState, kPhase };
enum class PieceFate : std::uint8_t { kCounted, kLost, kAgain };

struct ScenePiece {
  PieceKind kind = PieceKind::kForward;
  PieceFate fate = PieceFate::kCounted;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::string label;    // the microbatch, or the phase
  std::string tooltip;  // "forward of microbatch 3, step 12: 11.2 ms"
  bool is_cut = false;
};

struct SceneLane {
  std::string name;         // stage/1/0
  std::string incarnation;  // "#12", or nothing
  std::vector<ScenePiece> pieces;
};

// Absence of a process: from its death to its next start, or to the end of the window.
struct SceneGap {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool comes_back = false;
};

struct SceneProcess {
  std::string name;
  std::vector<SceneLane> lanes;
  std::vector<SceneGap> gaps;
};

struct SceneCommit {
  std::int64_t time_ns = 0;
  std::string label;  // "step 12"
  bool is_skipped = false;
};

// A numbered moment, told below the picture.
struct SceneMoment {
  std::int64_t time_ns = 0;
  std::string text;
  bool is_fault = false;
};

// Links a piece to the piece that its letter led to.
struct SceneLink {
  std::size_t from_process = 0, from_lane = 0;
  std::int64_t from_ns = 0;
  std::size_t to_process = 0, to_lane = 0;
  std::int64_t to_ns = 0;
  bool is_forward = true;
};

struct Scene {
  std::string title;
  std::string story;  // one sentence on what was lost and who did it again; or nothing
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<SceneProcess> processes;
  std::vector<SceneCommit> commits;
  std::vector<SceneMoment> moments;
  std::vector<SceneLink> links;
};

// Errors: kUsage for a window that has nothing in it, or a step that was not committed.
[[nodiscard]] Result<Scene> compose_scene(const RunTrace& trace, const PictureWindow& window);

}  // namespace shoal
