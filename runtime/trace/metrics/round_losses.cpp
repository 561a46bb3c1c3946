// A run that is resumed after its last line names in its next step's line what that one had more than the steps.
#include "runtime/trace/metrics/round_losses.h"

#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

// Part of nearly every line, which then need not be parsed.
constexpr std::string_view kNothing = "\"lost_tokens\":0,\"approximated\":0,";

void add_line(RoundLosses& sum, std::string_view line) {
  if (line.find("\"lost_tokens\"") == std::string_view::npos || line.find(kNothing) != std::string_view::npos) return;
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return;
  const std::uint64_t lost = count_field(json, "lost_tokens").value_or(0);
  const bool is_last = json.contains("weights_sha256");
  if (is_last) {
    sum.lost_at_the_end = lost;
  } else {
    sum.lost_tokens += lost;
  }
  sum.approximated += count_field(json, "approximated").value_or(0);
}

}  // namespace

std::string text_of(const RoundLosses& losses) {
  return compose(counted(losses.lost(), "token"), " lost, ", counted(losses.approximated, "microbatch"),
                 " approximated");
}

Result<RoundLosses> round_losses_in(const std::string& metrics_path) {
  RoundLosses sum;
  const Status read = read_metrics_lines(metrics_path, [&sum](std::string_view line) { add_line(sum, line); });
  return read ? Result<RoundLosses>(sum) : read.failure();
}

// Lines are added behind the last whole one of now, over what was left of another.
LossesBefore::LossesBefore(InputFile file) {
  const auto end = read_lines_back(file, [](std::string_view) { return true; });
  if (end) lines_.emplace(part_of(std::move(file.read_at), 0, *end));
}

bool LossesBefore::read_on(std::size_t bytes) {
  const std::uint64_t until = lines_ ? lines_->end() + bytes : 0;
  while (lines_ && lines_->end() < until) {
    const auto line = lines_->next();
    if (line) {
      add_line(sum_, *line);
    } else {
      lines_.reset();
    }
  }
  return lines_.has_value();
}

// Reads nothing while somebody who asks reads, and does not wait for that.
void RoundTally::add(const MetricsOutput& line) {
  if (const std::unique_lock lock(before_mutex_, std::try_to_lock); lock.owns_lock()) {
    (void)before_.read_on(kPieceBytes);
  }
  if (const auto* step = std::get_if<StepRecord>(&line)) {
    lost_tokens_ += step->lost_tokens;
    approximated_ += step->approximated.value_or(0);
  } else if (const auto* last = std::get_if<FinalRecord>(&line)) {
    lost_at_the_end_ = last->lost_tokens;
    has_end_ = true;
  }
}

RoundLosses RoundTally::sum() const {
  const std::lock_guard lock(before_mutex_);
  while (before_.read_on(kPieceBytes)) {
  }
  const RoundLosses& before = before_.so_far();
  const std::uint64_t at_the_end = has_end_ ? lost_at_the_end_.load() : before.lost_at_the_end;
  return {before.lost_tokens + lost_tokens_, at_the_end, before.approximated + approximated_};
}

}  // namespace shoal
