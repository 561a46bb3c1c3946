// Prints progress lines.
#include "launch/processes/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/machine/unhindered_stream.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/trace/metrics/progress_line.h"
#include "runtime/trace/metrics/summary_text.h"

namespace shoal {
namespace {

int terminal_columns() {
  if (const char* columns = std::getenv("COLUMNS")) {
    if (const int wanted = std::atoi(columns); wanted > 0) return wanted;
  }
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

void show_line(const std::string& line) { words_out().write(line + "\n"); }

struct Shower {
  ProgressStyle style;
  std::uint64_t every = 10;
  bool has_shown_legend = false;
  ProgressWindow window{};

  void operator()(const StepRecord& record) {
    window.add(record);
    const std::uint64_t applied = record.step + 1;
    const bool is_due = every > 0 && (applied % every == 0 || applied == style.steps_target || applied == 1);
    if (!is_due && !record.skipped) return;
    style.columns = terminal_columns();  // a person may make it wider
    if (!std::exchange(has_shown_legend, true)) show_line(progress_legend(style));
    show_line(progress_line(record, window.take(), style));
  }
  void operator()(const EvalRecord& record) { show_line(progress_line(record)); }
  void operator()(const EvalProgress& progress) { show_line(progress_line(progress)); }
  void operator()(const SummaryRecord& record) {
    for (const std::string& line : summary_lines(record)) show_line(line);
  }
  void operator()(const FinalRecord& record) {
    show_line(compose(word_of(record.kind), " after ", counted(record.steps, "step"), " and ",
                      counted(record.tokens_total, "token"), record.weights_sha256.empty() ? "" : "; weights ",
                      record.weights_sha256));
  }
  void operator()(const ViewRecord& record) {
    if (record.kind == RunEventKind::kRound) return;  // the progress line counts them
    show_line(compose("[view] ", record.change));
  }
  void operator()(const RunEvent& event) {
    if (event.kind == RunEventKind::kRoundClosed) return;  // as often as rounds
    show_line(compose("[", word_of(event.kind), "] ", event.subject, ": ", event.reason));
  }
};

}  // namespace

std::function<void(const MetricsOutput&)> make_progress(std::uint64_t steps_target, const Config& config) {
  auto shower = std::make_shared<Shower>();
  shower->style.steps_target = steps_target;
  if (config.sync.mode == SyncMode::kDiloco) shower->style.steps_per_round = config.sync.H;
  shower->style.is_terminal = ::isatty(STDERR_FILENO) == 1;
  shower->every = config.log.every;
  return [shower](const MetricsOutput& output) { std::visit(*shower, output); };
}

}  // namespace shoal
