// `shoal data fetch NAME` and `shoal data order CONFIG --steps N`.
//
// Results go to stdout, everything else to stderr. Each returns the process's exit status (interface: Exit codes).
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/config.h"

namespace shoal {

// Fetches the corpus, or with "gpt2" that tokenizer's ranks, unless it is there, and prints the path of the file. 2: no
// such name; 3: another file than published, or the disk refuses; 4: no apt-get or pip, or no mirror.
[[nodiscard]] int run_data_fetch(const std::string& name);

// One line per microbatch of the first `steps` steps: "step microbatch offset offset ...", the start positions of its
// sequences in the training tokens. 3: the text cannot be used.
[[nodiscard]] int run_data_order(const Config& config, std::uint64_t steps);

}  // namespace shoal
