// Enters the run that was chosen, new or resumed.
//
// Everything before it only looks; from here on something is written, and by one command at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launch/processes/run_hold.h"
#include "launch/start_run.h"
#include "runtime/base/error.h"

namespace shoal {

// Checks the text; for a continued run it also checks that it is the run's, and the files on disk. A refused command
// changes nothing. Then locks the directory, as long as the result lives, writes what processes need, and tells the
// person where. A branch begins here (branches/). If another command took a directory that was chosen and not named,
// the next free one is taken, also in `chosen`. stop_at: --steps. Errors: those of open_tokens(), RunHold::take(),
// check_can_go_on(), text_to_keep() and prepare_run_directory().
[[nodiscard]] Result<RunHold> enter_run(ChosenRun& chosen, std::optional<std::uint64_t> stop_at);

// Checks that a message can hold what replicas give each other of a step or a round. Errors: kUsage.
[[nodiscard]] Status check_sums_can_travel(const Config& config);

// Draws a run's picture once the run has its status: a second signal then ends this process at once with that, however
// slow the disk is. was_asked: a first one has been taken.
void draw_finished(const std::string& directory, const Result<int>& status, bool was_asked);

// Tells the person how to go on with a run, where `code` is the status of one that was stopped and saved, or of one
// that diverged. command: the words that began it, as "shoal train".
void say_how_to_go_on(std::string_view command, const std::string& directory, int code);

}  // namespace shoal
