// Chooses the part of a run that is worth a picture: a few steps, in which something happens if anything ever did.
// Pure; a step begins where the one before it was committed.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/error.h"
#include "runtime/trace/picture/scene.h"
#include "runtime/trace/report/traced_journal.h"

namespace shoal {

struct ChosenWindow {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::string title;  // "node2 is killed in step 8"
};

// Around the first process that died while others went on; else a few steps in the middle. What `wanted` says counts.
// Errors: kUsage for a window with nothing in it, or of a step that was not committed.
[[nodiscard]] Result<ChosenWindow> choose_window(const RunTrace& trace, const TracedJournal& journal,
                                                 const PictureWindow& wanted);

// A border as a person writes it: "12.5" seconds or "step12". Errors: kUsage.
[[nodiscard]] Result<WindowBorder> parse_border(const std::string& text);

}  // namespace shoal
