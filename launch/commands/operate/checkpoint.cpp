// `shoal checkpoint`: a checkpoint now, and where it lies.
#include "launch/commands/operate/checkpoint.h"

#include <chrono>
#include <thread>

#include "launch/commands/operate/operate.h"
#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "runtime/cluster/operate/save_words.h"
#include "runtime/storage/checkpoint_reader.h"

namespace shoal {

Result<std::optional<std::uint64_t>> CheckpointWait::hear(const SaveAnswer& answer, double waited_s) {
  goal_ = answer.goal;
  is_news_ = answer.stage == SaveStage::kOrdered && answer.text != text_;
  text_ = answer.text;
  is_saved_ = answer.stage == SaveStage::kSaved;
  if (answer.stage == SaveStage::kFailed) return fail(Error::kIo, answer.text);
  if (is_saved_ || !waits_) return std::optional(answer.goal.step);
  if (waited_s < timeout_s_) return std::optional<std::uint64_t>();
  return fail(Error::kUnreachable, compose("no checkpoint within ", timeout_s_, " s: ", answer.text,
                                           "; it is saved all the same as soon as that can be"));
}

namespace {

constexpr std::chrono::milliseconds kAskPause{200};

// As far as this machine can tell: the name alone where the run is on another one.
std::string place_of(const RunLocator& where, std::uint64_t step) {
  if (!where.spawner) {
    const auto config = read_run_config(where.run_directory);
    if (config) return checkpoint_folder(RunDirectory{where.run_directory}.checkpoints(*config), step).string();
  }
  return compose("step_", step);
}

Result<SaveAnswer> ask(const RunLocator& where, const SaveRequest& request) {
  const auto answer = post_patiently(where, std::string(kCheckpointPath), save_request_text(request));
  return answer ? parse_save_answer(answer->body) : answer.failure();
}

// A run may end, and its spawner with it, before it was asked again.
bool is_on_disk(const RunLocator& where, const std::optional<SaveGoal>& goal) {
  if (where.spawner || !goal) return false;
  const auto manifest = read_manifest(place_of(where, goal->step));
  return manifest && manifest->branch >= goal->branch.value && manifest->run == id_of({where.run_directory});
}

}  // namespace

Result<int> run_checkpoint(const CheckpointOptions& options) {
  using Steady = std::chrono::steady_clock;
  const Steady::time_point begun = Steady::now();
  CheckpointWait wait(options.waits, options.timeout_s);
  for (;;) {
    const auto answer = ask(options.where, wait.next());
    if (!answer && is_on_disk(options.where, wait.goal())) {
      print(place_of(options.where, wait.goal()->step), "\n");
      return 0;
    }
    if (!answer) return answer.failure();
    const auto done = wait.hear(*answer, std::chrono::duration<double>(Steady::now() - begun).count());
    if (!done) return done.failure();
    if (*done && wait.is_saved()) print(place_of(options.where, **done), "\n");
    if (*done && !wait.is_saved()) print(answer->text, ": ", place_of(options.where, **done), "\n");
    if (*done) return 0;
    if (const auto news = wait.news()) say(*news);
    std::this_thread::sleep_for(kAskPause);
  }
}

}  // namespace shoal
