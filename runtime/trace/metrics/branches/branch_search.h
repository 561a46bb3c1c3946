// Reads the lines among which branches begin, without those between two steps of one branch: the file of a run of
// months has a million of these, and whoever starts asks for a few branches.
//
// Steps stand in the order of their branches, and a branch has a higher number than every step before its line
// (branch_record.h): where the steps of one branch begin is found by halving. The journal's steps are filled in late,
// and may stand behind the line of a later branch.
#pragma once

#include <functional>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace shoal {

// Gives lines last to first, and leaves out only such as stand between two steps of one branch, the later of which is
// not filled in, or before such a step of branch 0. Errors: kIo, after some were given.
[[nodiscard]] Status read_between_branches_back(const InputFile& file,
                                                const std::function<void(std::string_view)>& take);

}  // namespace shoal
