// Lines come as what they say (line_facts.h).
#include "runtime/trace/metrics/goodput.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace shoal {
namespace {

constexpr std::size_t kRatesMax = 4096;

// Rounds are part of undisturbed training, and so is a member late for one; a run that begins disturbs nothing.
bool is_disturbance(const EventFacts& event) {
  return event.kind != RunEventKind::kRound && event.kind != RunEventKind::kRoundClosed &&
         event.kind != RunEventKind::kStarted;
}

// The next step is timed from this start, and no evaluation before it is in its time.
bool is_new_clock(const EventFacts& event) {
  return event.kind == RunEventKind::kStarted || event.kind == RunEventKind::kResumed;
}

}  // namespace

void Goodput::add(const LineFacts& facts) {
  if (const auto* event = std::get_if<EventFacts>(&facts)) {
    is_disturbed_ = is_disturbed_ || is_disturbance(*event);
    evaluation_ms_ = is_new_clock(*event) ? 0 : evaluation_ms_ + event->eval_ms;
    is_first_ = is_first_ || event->kind == RunEventKind::kStarted;
  } else if (const auto* step = std::get_if<StepFacts>(&facts)) {
    add(*step);
  }
}

void Goodput::add(const StepFacts& step) {
  const double timed_ms = step.is_partly_timed ? 0 : step.step_ms;
  const double step_ms = std::max(0.0, timed_ms - std::exchange(evaluation_ms_, 0));
  const bool is_first = is_first_ && !step.is_filled;  // a filled one is of the start before
  const bool is_calm = !std::exchange(is_disturbed_, false) && step.retried == 0;
  if (!step.is_filled) is_first_ = false;
  wall_ms_ += step_ms;
  const std::uint64_t tokens = timed_ms > 0 ? step.tokens : 0;
  tokens_ += tokens;
  history_.add(step.step, tokens);
  const auto counted = static_cast<double>(tokens);
  if (is_calm && step_ms > 0) add_undisturbed(counted, step_ms);
  if (is_first) {
    first_.add(counted, step_ms);
  } else if (!is_calm) {
    eventful_.add(counted, step_ms);
  }
}

void Goodput::add_undisturbed(double tokens, double ms) {
  undisturbed_.add(tokens, ms);
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
  return std::max(*middle, undisturbed_.tokens / undisturbed_.ms);
}

std::optional<double> Goodput::of(std::uint64_t steps) const {
  const double rate = usual_rate();
  if (rate <= 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(history_.up_to(steps).tokens) / (rate * wall_ms_));
}

std::optional<GoodputLoss> Goodput::loss_of(std::uint64_t steps) const {
  const double rate = usual_rate();
  if (rate <= 0) return std::nullopt;
  constexpr double kMsOfSecond = 1000;
  const auto beyond_s = [rate](double ms, double tokens) { return (ms - tokens / rate) / kMsOfSecond; };
  GoodputLoss loss;
  loss.first_steps = beyond_s(first_.ms, first_.tokens);
  loss.eventful = beyond_s(eventful_.ms, eventful_.tokens);
  loss.repeated = static_cast<double>(thrown_away(steps)) / rate / kMsOfSecond;
  loss.uneven = beyond_s(wall_ms_, static_cast<double>(tokens_)) - loss.first_steps - loss.eventful;
  return loss;
}

std::uint64_t Goodput::thrown_away(std::uint64_t steps) const { return tokens_ - history_.up_to(steps).tokens; }

}  // namespace shoal
