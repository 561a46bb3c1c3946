// Loaded into a program by LD_PRELOAD, the library `fragile` gives it a bug: it aborts while it reads a frame of a peer
// that holds kFatalWords. No frame of an honest process does.
#pragma once

#include <string_view>

namespace shoal::guest {

inline constexpr std::string_view kFatalWords = "these words end whoever reads them";

}  // namespace shoal::guest
