// Formats progress lines; widths are fixed so that columns stay where they are.
#include "runtime/trace/metrics/progress_line.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace shoal {
namespace {

std::string human_bytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  std::ostringstream out;
  out << std::fixed << std::setprecision(unit == 0 ? 0 : 1) << value << kUnits[unit];
  return out.str();
}

std::string human_seconds(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, seconds));
  std::ostringstream out;
  if (whole >= 3600) out << whole / 3600 << 'h';
  if (whole >= 60) out << (whole / 60) % 60 << 'm';
  out << whole % 60 << 's';
  return out.str();
}

std::string bar(double fraction, int width) {
  const int filled = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * width));
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(width - filled), '.') + "] ";
}

}  // namespace

std::string progress_legend() {
  return "step: steps applied/target | loss: nats per token before the update | lr | norm: gradient norm before "
         "clipping | tok/s | peers: replicas per stage | round: ended/of the run | sent: bytes between processes per "
         "step | eta";
}

std::string progress_line(const StepRecord& record, const ProgressStyle& style) {
  std::ostringstream out;
  const std::uint64_t applied = record.step + 1;
  if (style.is_terminal && style.columns >= 120 && style.steps_target > 0) {
    out << bar(static_cast<double>(applied) / static_cast<double>(style.steps_target), 16);
  }
  const ByteCounts& b = record.bytes;
  out << "step " << std::setw(5) << applied << '/' << style.steps_target << "  loss " << std::fixed
      << std::setprecision(4) << record.loss << "  lr " << std::scientific << std::setprecision(2) << record.lr
      << "  norm " << std::fixed << std::setprecision(2) << record.grad_norm << "  " << std::setw(6)
      << std::setprecision(0)
      << (record.step_ms > 0 ? 1000.0 * static_cast<double>(record.tokens) / record.step_ms : 0.0) << " tok/s";
  out << "  peers ";
  for (std::size_t i = 0; i < record.replicas.size(); ++i) out << (i == 0 ? "" : "+") << record.replicas[i];
  if (style.steps_per_round > 0) {
    out << "  round " << applied / style.steps_per_round << '/' << style.steps_target / style.steps_per_round;
  }
  out << "  sent " << human_bytes(b.activation + b.gradient + b.reduce + b.state + b.control);
  if (style.steps_target > applied) {
    out << "  eta " << human_seconds(static_cast<double>(style.steps_target - applied) * record.step_ms / 1000.0);
  }
  if (record.skipped) out << "  SKIPPED: " << *record.skipped;
  std::string line = out.str();
  if (style.is_terminal && style.columns > 0 && line.size() > static_cast<std::size_t>(style.columns)) {
    line.resize(static_cast<std::size_t>(style.columns));
  }
  return line;
}

std::string progress_line(const EvalRecord& record) {
  std::ostringstream out;
  out << "eval at step " << record.step << ": validation loss " << std::fixed << std::setprecision(4) << record.val_loss
      << ", perplexity " << std::setprecision(3) << std::exp(record.val_loss) << ", bits per byte "
      << std::setprecision(4) << record.bits_per_byte;
  return out.str();
}

}  // namespace shoal
