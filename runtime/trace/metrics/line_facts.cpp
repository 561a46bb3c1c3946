// A quote is escaped in a JSON string, so what looks like a key is one.
#include "runtime/trace/metrics/line_facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

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

// Returns a finite number that is not negative, else 0.
double measured_at(std::string_view line, std::string_view key) {
  const double value = number_at<double>(line, key).value_or(0);
  return std::isfinite(value) ? std::max(0.0, value) : 0;
}

// Returns the text up to the next quote: nothing that is compared has an escaped one.
std::string_view text_at(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + key.size());
  return rest.substr(0, rest.find('"'));
}

// A torn line lacks a brace, also where the next one was written behind it.
bool is_whole(std::string_view line) { return std::ranges::count(line, '{') == std::ranges::count(line, '}'); }

std::optional<LineBytes> bytes_of(std::string_view line) {
  static constexpr std::string_view kKeys[] = {
      "\"activation\":", "\"gradient\":", "\"reduce\":", "\"state\":", "\"control\":", "\"checkpoint\":"};
  constexpr std::size_t kOldParts = 5;
  const std::size_t at = line.find("\"bytes\":{");
  if (at == std::string_view::npos) return std::nullopt;
  LineBytes bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto part = number_at<std::uint64_t>(line.substr(at), kKeys[i]);
    if (!part && i < kOldParts) return std::nullopt;
    bytes[i] = part.value_or(0);
  }
  return bytes;
}

// Reads the words of a checkpoint's event: "1024 bytes in 0.5 s".
void read_saved(std::string_view reason, EventFacts& facts) {
  constexpr std::string_view kBetween = " bytes in ";
  const std::size_t at = reason.find(kBetween);
  if (at == std::string_view::npos) return;
  const std::string_view seconds = reason.substr(at + kBetween.size());
  (void)std::from_chars(reason.data(), reason.data() + at, facts.saved_bytes);
  (void)std::from_chars(seconds.data(), seconds.data() + seconds.size(), facts.saved_s);
  if (!std::isfinite(facts.saved_s) || facts.saved_s < 0) facts.saved_s = 0;
}

// Returns the N of "..., as branch N" in the words of a roll-back. A failure's text may stand before it.
std::optional<std::uint64_t> branch_begun_in(std::string_view line) {
  constexpr std::string_view kBefore = ", as branch ";
  const std::size_t at = line.rfind(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t branch = 0;
  const char* const number = line.data() + at + kBefore.size();
  const auto [rest, error] = std::from_chars(number, line.data() + line.size(), branch);
  return error == std::errc() ? std::optional(branch) : std::nullopt;
}

// Reads the words of lines that were lost: "31 lines before this one: ...".
std::uint64_t lost_lines_in(std::string_view reason) {
  std::uint64_t count = 0;
  (void)std::from_chars(reason.data(), reason.data() + reason.size(), count);
  return count;
}

LineFacts step_facts(std::string_view line) {
  if (!is_whole(line)) return {};
  const auto step = number_at<std::uint64_t>(line, "\"step\":");
  const auto tokens = number_at<std::uint64_t>(line, "\"tokens\":");
  const auto retried = number_at<std::uint64_t>(line, "\"retried\":");
  if (!step || !tokens || !retried) return {};
  StepFacts facts;
  facts.step = *step;
  facts.tokens = *tokens;
  facts.retried = *retried;
  facts.lost_tokens = number_at<std::uint64_t>(line, "\"lost_tokens\":").value_or(0);
  facts.approximated = number_at<std::uint64_t>(line, "\"approximated\":").value_or(0);
  facts.step_ms = measured_at(line, "\"step_ms\":");
  facts.is_partly_timed = facts.step_ms > 0 && line.find("\"tokens_per_s\":null") != std::string_view::npos;
  facts.wait_ms = measured_at(line, "\"wait\":");
  facts.is_of_one_process = number_at<std::uint64_t>(line, "\"view\":").value_or(0) == 0;
  facts.is_filled = line.find(kFilledIn) != std::string_view::npos;
  facts.bytes = bytes_of(line);
  facts.at = parse_utc_ms(text_at(line, "\"at\":\""));
  return facts;
}

}  // namespace

std::int64_t clock_set_ms(std::string_view line) {
  return is_whole(line) ? number_at<std::int64_t>(line, "\"clock_set_ms\":").value_or(0) : 0;
}

LineFacts facts_of(std::string_view line) {
  static constexpr std::string_view kEvent = "{\"event\":\"";
  if (line.starts_with(kStepLineBegin)) return step_facts(line);
  if (!line.starts_with(kEvent)) return {};
  EventFacts facts;
  facts.kind = run_event_kind(text_at(line, kEvent));
  facts.subject = text_at(line, "\"subject\":\"");
  facts.eval_ms = measured_at(line, "\"eval_ms\":");
  const std::string_view reason = text_at(line, "\"reason\":\"");
  if (facts.kind == RunEventKind::kCheckpoint) read_saved(reason, facts);
  if (facts.kind == RunEventKind::kRolledBack) facts.branch = branch_begun_in(line);
  if (facts.kind == RunEventKind::kLinesLost) facts.lost_lines = lost_lines_in(reason);
  facts.at = parse_utc_ms(text_at(line, "\"at\":\""));
  return facts;
}

}  // namespace shoal
