// A file of a month has a million lines: they are searched for the few numbers that count, not parsed. In a JSON string
// a quote is escaped, so what looks like a key is one.
#include "runtime/trace/metrics/goodput.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace shoal {
namespace {

constexpr std::size_t kRatesMax = 4096;

template <class T>
std::optional<T> number_at(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  T value{};
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + at + key.size(), end, value);
  const bool is_number = error == std::errc() && rest != end && (*rest == ',' || *rest == '}');
  return is_number ? std::optional(value) : std::nullopt;
}

// A torn line lacks a brace, also where the next one was written behind it.
bool is_whole(std::string_view line) { return std::ranges::count(line, '{') == std::ranges::count(line, '}'); }

struct StepLine {
  std::uint64_t step = 0;
  std::uint64_t tokens = 0;
  std::uint64_t retried = 0;
  double step_ms = 0;  // 0: not known
};

std::optional<StepLine> step_line(std::string_view line) {
  if (!line.starts_with("{\"branch\":") || !is_whole(line)) return std::nullopt;
  const auto step = number_at<std::uint64_t>(line, "\"step\":");
  const auto tokens = number_at<std::uint64_t>(line, "\"tokens\":");
  const auto retried = number_at<std::uint64_t>(line, "\"retried\":");
  if (!step || !tokens || !retried) return std::nullopt;
  const double step_ms = number_at<double>(line, "\"step_ms\":").value_or(0);
  return StepLine{*step, *tokens, *retried, std::isfinite(step_ms) ? std::max(0.0, step_ms) : 0};
}

// Rounds are part of undisturbed training, and so is who was late for one.
bool is_event(std::string_view line) {
  const auto is_of = [line](std::string_view start) { return line.starts_with(start); };
  return is_of("{\"event\":") && !is_of("{\"event\":\"round\"") && !is_of("{\"event\":\"round_closed\"");
}

}  // namespace

void Goodput::add(std::string_view line) {
  const auto step = step_line(line);
  if (!step) {
    is_disturbed_ = is_disturbed_ || is_event(line);
    return;
  }
  const bool is_yardstick = !is_disturbed_ && step->retried == 0 && step->step_ms > 0;
  is_disturbed_ = false;
  wall_ms_ += step->step_ms;
  add_step(step->step, step->step_ms > 0 ? step->tokens : 0);
  if (is_yardstick) add_undisturbed(static_cast<double>(step->tokens), step->step_ms);
}

void Goodput::add_step(std::uint64_t step, std::uint64_t tokens) {
  tokens_ += tokens;
  while (!history_.empty() && history_.back().begin >= step) history_.pop_back();
  if (!history_.empty()) history_.back().end = std::min(history_.back().end, step);
  if (!history_.empty() && history_.back().end == step && history_.back().tokens == tokens) {
    ++history_.back().end;
  } else {
    history_.push_back({step, step + 1, tokens});
  }
}

// Rates are kept evenly over all of the run: when they become too many, every second one goes.
void Goodput::add_undisturbed(double tokens, double ms) {
  undisturbed_tokens_ += tokens;
  undisturbed_ms_ += ms;
  if (rates_before_++ % stride_ != 0) return;
  rates_.push_back(tokens / ms);
  if (rates_.size() < kRatesMax) return;
  for (std::size_t i = 0; 2 * i < rates_.size(); ++i) rates_[i] = rates_[2 * i];
  rates_.resize(rates_.size() / 2);
  stride_ *= 2;
}

double Goodput::usual_rate() const {
  if (rates_.empty()) return 0;
  std::vector<double> rates = rates_;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::ranges::nth_element(rates, middle);
  return std::max(*middle, undisturbed_tokens_ / undisturbed_ms_);
}

std::optional<double> Goodput::of(std::uint64_t steps) const {
  const double rate = usual_rate();
  if (rate <= 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(committed_tokens(steps)) / (rate * wall_ms_));
}

std::uint64_t Goodput::thrown_away(std::uint64_t steps) const { return tokens_ - committed_tokens(steps); }

std::uint64_t Goodput::committed_tokens(std::uint64_t steps) const {
  std::uint64_t tokens = 0;
  for (const Stretch& stretch : history_) {
    const std::uint64_t end = std::min(stretch.end, steps);
    if (end > stretch.begin) tokens += stretch.tokens * (end - stretch.begin);
  }
  return tokens;
}

bool GoodputReader::read_on(std::size_t bytes) {
  if (!lines_) {
    auto file = open_input(path_);
    if (!file) return false;
    lines_.emplace(std::move(file->read_at));
  }
  for (const std::uint64_t until = lines_->end() + bytes; lines_->end() < until;) {
    const auto line = lines_->next();
    if (!line) return false;
    goodput_.add(*line);
  }
  return true;
}

void GoodputReader::read_all() {
  constexpr std::size_t kPiece = 1 << 20;
  while (read_on(kPiece)) {
  }
}

std::optional<double> GoodputReader::of(std::uint64_t steps) {
  read_all();
  return goodput_.of(steps);
}

std::uint64_t GoodputReader::thrown_away(std::uint64_t steps) {
  read_all();
  return goodput_.thrown_away(steps);
}

}  // namespace shoal
