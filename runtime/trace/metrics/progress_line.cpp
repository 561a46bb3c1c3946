// Formats progress lines; widths are fixed so that columns stay where they are. A terminal that is too narrow for all
// of a line gets what fits of it: fields are left out by rank, and only what still does not fit is cut. The legend
// takes as many lines as it needs.
#include "runtime/trace/metrics/progress_line.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <string_view>
#include <vector>

#include "runtime/base/compose.h"

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
         std::string(static_cast<std::size_t>(width - filled), '.') + "]";
}

std::string sent_by(const ByteCounts& b) {
  return "sent " + human_bytes(b.activation + b.gradient + b.reduce + b.state + b.control);
}

std::string speed_of(const StepRecord& record) {
  std::ostringstream out;
  const double per_s = record.step_ms > 0 ? 1000.0 * static_cast<double>(record.tokens) / record.step_ms : 0.0;
  out << std::fixed << std::setw(6) << std::setprecision(0) << per_s << " tok/s";
  return out.str();
}

std::string peers_of(const StepRecord& record) {
  std::string text = "peers ";
  for (std::size_t i = 0; i < record.replicas.size(); ++i) text += compose(i == 0 ? "" : "+", record.replicas[i]);
  return text;
}

template <class Format>
std::string number_text(const char* name, double value, Format format, int precision) {
  std::ostringstream out;
  out << name << format << std::setprecision(precision) << value;
  return out.str();
}

// In the order in which a narrow terminal goes without them; the last rank stays.
enum class Rank { kRate, kBytes, kNorm, kPeers, kBar, kRound, kSpeed, kEta, kStays };

struct Field {
  Rank rank;
  std::string text;
};

// From left to right.
std::vector<Field> fields_of(const StepRecord& record, const ProgressStyle& style) {
  const std::uint64_t applied = record.step + 1;
  const std::uint64_t target = style.steps_target;
  std::vector<Field> fields;
  if (style.is_terminal && target > 0)
    fields.push_back({Rank::kBar, bar(static_cast<double>(applied) / static_cast<double>(target), 16)});
  std::ostringstream step;
  step << "step " << std::setw(5) << applied << '/' << target;
  fields.push_back({Rank::kStays, step.str()});
  fields.push_back({Rank::kStays, number_text("loss ", record.loss, std::fixed, 4)});
  fields.push_back({Rank::kRate, number_text("lr ", record.lr, std::scientific, 2)});
  fields.push_back({Rank::kNorm, number_text("norm ", record.grad_norm, std::fixed, 2)});
  fields.push_back({Rank::kSpeed, speed_of(record)});
  fields.push_back({Rank::kPeers, peers_of(record)});
  if (style.steps_per_round > 0)
    fields.push_back(
        {Rank::kRound, compose("round ", applied / style.steps_per_round, '/', target / style.steps_per_round)});
  if (record.bytes) fields.push_back({Rank::kBytes, sent_by(*record.bytes)});
  if (target > applied) {
    const double seconds = static_cast<double>(target - applied) * record.step_ms / 1000.0;
    fields.push_back({Rank::kEta, "eta " + human_seconds(seconds)});
  }
  if (record.skipped) fields.push_back({Rank::kStays, "SKIPPED: " + *record.skipped});
  return fields;
}

std::string joined(const std::vector<Field>& fields) {
  std::string line;
  for (const Field& field : fields) {
    const bool follows_bar = &field == &fields.front() + 1 && fields.front().rank == Rank::kBar;
    line += (line.empty() ? "" : follows_bar ? " " : "  ") + field.text;
  }
  return line;
}

// Of a line; without a terminal nothing wraps.
std::size_t columns_of(const ProgressStyle& style) {
  if (!style.is_terminal || style.columns <= 0) return std::string::npos;
  return static_cast<std::size_t>(style.columns);
}

}  // namespace

std::string progress_legend(const ProgressStyle& style) {
  std::vector<std::string_view> entries = {"step: steps applied/target",
                                           "loss: nats per token before the update",
                                           "lr",
                                           "norm: gradient norm before clipping",
                                           "tok/s",
                                           "peers: replicas per stage",
                                           "round: ended/of the run",
                                           "sent: bytes between processes per step",
                                           "eta"};
  // Between rounds every replica has weights of its own, with eager updates ahead of all that is agreed.
  if (style.steps_per_round > 0) {
    entries[1] = "loss: nats per token before the update, of each replica's own weights";
    entries.emplace_back("eval: of the agreed weights, which are saved");
  }
  static constexpr std::string_view kBetween = " | ";
  const std::size_t columns = columns_of(style);
  std::string text;
  std::size_t used = 0;  // of the last line
  for (std::string_view entry : entries) {
    entry = entry.substr(0, columns);
    const bool is_first = text.empty();
    const bool fits = used + kBetween.size() + entry.size() <= columns;
    if (!is_first) text += fits ? kBetween : "\n";
    used = is_first || !fits ? entry.size() : used + kBetween.size() + entry.size();
    text += entry;
  }
  return text;
}

std::string progress_line(const StepRecord& record, const ProgressStyle& style) {
  std::vector<Field> fields = fields_of(record, style);
  std::string line = joined(fields);
  const std::size_t columns = columns_of(style);
  while (line.size() > columns) {
    const auto least = std::ranges::min_element(fields, {}, &Field::rank);
    if (least->rank == Rank::kStays) break;
    fields.erase(least);
    line = joined(fields);
  }
  return line.substr(0, columns);
}

std::string progress_line(const EvalRecord& record) {
  const char* const name = record.is_final ? "final validation loss " : "validation loss ";
  std::ostringstream out;
  out << (record.is_final ? "final eval" : "eval") << " at step " << record.step << ": " << name << std::fixed
      << std::setprecision(4) << record.val_loss << ", perplexity " << std::setprecision(3) << std::exp(record.val_loss)
      << ", bits per byte " << std::setprecision(4) << record.bits_per_byte << " (windows " << record.windows
      << ", tokens " << record.tokens << (record.is_of_agreed ? ", of the agreed weights)" : ")");
  return out.str();
}

std::string progress_line(const EvalProgress& progress) {
  return compose("final eval at step ", progress.step, ": ", progress.windows, " of ", progress.windows_planned,
                 " windows");
}

}  // namespace shoal
