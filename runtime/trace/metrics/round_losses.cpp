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

RoundLosses sum_of_lines(ReadAt read_at) {
  RoundLosses sum;
  MetricsLines lines(std::move(read_at));
  while (const auto line = lines.next()) add_line(sum, *line);
  return sum;
}

}  // namespace

std::string text_of(const RoundLosses& losses) {
  return compose(counted(losses.lost(), "token"), " lost, ", counted(losses.approximated, "microbatch"),
                 " approximated");
}

Result<RoundLosses> round_losses_in(const std::string& metrics_path) {
  auto file = open_input(metrics_path);
  if (!file) return file.failure();
  return sum_of_lines(std::move(file->read_at));
}

// Lines are added behind the last whole one of now, over what was left of another.
std::function<RoundLosses()> round_losses_before(InputFile file) {
  const auto end = read_lines_back(file, [](std::string_view) { return true; });
  return [part = part_of(std::move(file.read_at), 0, end ? *end : 0)] { return sum_of_lines(part); };
}

void RoundTally::add(const MetricsOutput& line) {
  if (const auto* step = std::get_if<StepRecord>(&line)) {
    lost_tokens_ += step->lost_tokens;
    approximated_ += step->approximated.value_or(0);
  } else if (const auto* last = std::get_if<FinalRecord>(&line)) {
    lost_at_the_end_ = last->lost_tokens;
    has_end_ = true;
  }
}

RoundLosses RoundTally::sum() const {
  std::call_once(is_read_, [this] { before_ = read_before_(); });
  const std::uint64_t at_the_end = has_end_ ? lost_at_the_end_.load() : before_.lost_at_the_end;
  return {before_.lost_tokens + lost_tokens_, at_the_end, before_.approximated + approximated_};
}

}  // namespace shoal
