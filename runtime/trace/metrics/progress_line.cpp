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
#include "runtime/base/text/quantity_words.h"
#include "runtime/trace/metrics/human_units.h"

namespace shoal {
namespace {

std::string bar(double fraction, int width) {
  const int filled = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * width));
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(width - filled), '.') + "]";
}

std::string speed_of(const StepRecord& record) {
  std::ostringstream out;
  const double per_s = record.step_ms > 0 ? 1000.0 * static_cast<double>(record.tokens) / record.step_ms : 0.0;
  out << std::fixed << std::setw(6) << std::setprecision(0);
  if (record.is_partly_timed) {
    out << '-';
  } else {
    out << per_s;
  }
  out << " tok/s";
  return out.str();
}

std::string peers_of(const StepRecord& record) {
  std::string text = "peers ";
  for (std::size_t i = 0; i < record.replicas.size(); ++i) text += compose(i == 0 ? "" : "+", record.replicas[i]);
  return text;
}

std::string scientific_text(double value) {
  std::ostringstream out;
  out << std::scientific << std::setprecision(2) << value;
  return out.str();
}

// Ranks in the order in which a narrow terminal goes without them; the last rank stays.
enum class Rank { kRate, kBytes, kNorm, kPeers, kBar, kRound, kSpeed, kEta, kStays };

struct Field {
  Rank rank;
  std::string text;
};

// Returns the fields from left to right.
std::vector<Field> fields_of(const StepRecord& record, const LineMeans& means, const ProgressStyle& style) {
  const std::uint64_t applied = record.step + 1;
  const std::uint64_t target = style.steps_target;
  std::vector<Field> fields;
  if (style.is_terminal && target > 0)
    fields.push_back({Rank::kBar, bar(static_cast<double>(applied) / static_cast<double>(target), 16)});
  std::ostringstream step;
  step << "step " << std::setw(5) << applied << '/' << target;
  fields.push_back({Rank::kStays, step.str()});
  fields.push_back({Rank::kStays, "loss " + number_text(record.loss, 4)});
  fields.push_back({Rank::kRate, "lr " + scientific_text(record.lr)});
  fields.push_back({Rank::kNorm, "norm " + (record.skipped ? std::string("-") : number_text(record.grad_norm, 2))});
  fields.push_back({Rank::kSpeed, speed_of(record)});
  fields.push_back({Rank::kPeers, peers_of(record)});
  if (style.steps_per_round > 0)
    fields.push_back(
        {Rank::kRound, compose("round ", applied / style.steps_per_round, '/', target / style.steps_per_round)});
  if (means.sent_bytes) fields.push_back({Rank::kBytes, "sent " + human_bytes(*means.sent_bytes)});
  if (target > applied && means.usual_step_ms) {
    const double seconds = static_cast<double>(target - applied) * *means.usual_step_ms / 1000.0;
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

// Columns of a line; without a terminal nothing wraps.
std::size_t columns_of(const ProgressStyle& style) {
  if (!style.is_terminal || style.columns <= 0) return std::string::npos;
  return static_cast<std::size_t>(style.columns);
}

}  // namespace

void ProgressWindow::add(const StepRecord& record) {
  if (record.bytes) {
    const ByteCounts& sent = *record.bytes;
    sent_bytes_ += static_cast<double>(sent.activation + sent.gradient + sent.reduce + sent.state + sent.control +
                                       sent.checkpoint);
    ++sent_steps_;
  }
  if (!(record.step_ms > 0) || record.is_partly_timed) return;
  if (recent_ms_.size() == kRecentMax) recent_ms_.pop_front();
  recent_ms_.push_back(record.step_ms);
}

LineMeans ProgressWindow::take() {
  LineMeans means;
  if (sent_steps_ > 0) means.sent_bytes = sent_bytes_ / static_cast<double>(sent_steps_);
  sent_bytes_ = 0;
  sent_steps_ = 0;
  if (recent_ms_.empty()) return means;
  std::vector<double> sorted(recent_ms_.begin(), recent_ms_.end());
  std::ranges::sort(sorted);
  means.usual_step_ms = sorted[(sorted.size() - 1) / 2];
  return means;
}

std::string progress_legend(const ProgressStyle& style) {
  std::vector<std::string_view> entries = {"step: steps applied/target",
                                           "loss: nats per token before the update",
                                           "lr",
                                           "norm: gradient norm before clipping",
                                           "tok/s",
                                           "peers: replicas per stage",
                                           "round: ended/of the run",
                                           "sent: bytes per step, mean of the line",
                                           "eta: at the pace of the latest steps"};
  // Between rounds every replica has weights of its own, with eager updates ahead of all that is agreed.
  if (style.steps_per_round > 0) {
    entries[1] = "loss: nats per token before the update, of each replica's own weights";
    entries.emplace_back("eval: of the agreed weights, which are saved");
  }
  static constexpr std::string_view kBetween = " | ";
  const std::size_t columns = columns_of(style);
  std::string text;
  std::size_t used = 0;  // columns of the last line
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

std::string progress_line(const StepRecord& record, const LineMeans& means, const ProgressStyle& style) {
  std::vector<Field> fields = fields_of(record, means, style);
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
  const char* const name = record.is_final ? "final eval at step " : "eval at step ";
  return compose(name, record.step, record.is_final ? ": final validation loss " : ": validation loss ",
                 number_text(record.val_loss, 4), ", perplexity ", number_text(std::exp(record.val_loss), 3),
                 ", bits per byte ", number_text(record.bits_per_byte, 4), " (windows ", record.windows, ", tokens ",
                 record.tokens, record.is_of_agreed ? ", of the agreed weights)" : ")");
}

std::string progress_line(const EvalProgress& progress) {
  return compose("final eval at step ", progress.step, ": ", progress.windows, " of ", progress.windows_planned,
                 " windows");
}

}  // namespace shoal
