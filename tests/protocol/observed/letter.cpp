// Reads the words of an event's detail: the message's name first, then what the tracer adds to it.
#include "tests/protocol/observed/letter.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/trace/tracer.h"

namespace shoal::observed {
namespace {

constexpr std::array<std::pair<std::string_view, Kind>, 15> kNames = {{
    {"Forward", Kind::kForward},
    {"Backward", Kind::kBackward},
    {"Ask", Kind::kAsk},
    {"AskAnswer", Kind::kAskAnswer},
    {"Refusal", Kind::kRefusal},
    {"Open", Kind::kOpen},
    {"Zero", Kind::kZero},
    {"Prepare", Kind::kPrepare},
    {"Reduce", Kind::kReduce},
    {"Part", Kind::kPart},
    {"Manifest", Kind::kManifest},
    {"Reduced", Kind::kReduced},
    {"Missing", Kind::kMissing},
    {"Prepared", Kind::kPrepared},
    {"StepSum", Kind::kStepSum},
}};

Kind kind_named(std::string_view name) {
  for (const auto& [text, kind] : kNames) {
    if (text == name) return kind;
  }
  return Kind::kOther;
}

// From "round 3.1": the third round of fragment 1.
std::optional<RoundId> round_in(std::string_view words) {
  constexpr std::string_view kRound = "round ";
  if (!words.starts_with(kRound)) return std::nullopt;
  RoundId round;
  const char* const end = words.data() + words.size();
  const auto number = std::from_chars(words.data() + kRound.size(), end, round.number);
  if (number.ptr == end) return std::nullopt;
  std::from_chars(number.ptr + 1, end, round.fragment);
  return round;
}

bool is_of_a_microbatch(Kind kind) { return kind <= Kind::kRefusal; }

}  // namespace

Letter letter_of(const TraceEvent& event) {
  Letter letter;
  const std::string_view detail = event.detail_text();
  const std::size_t space = detail.find(' ');
  letter.kind = kind_named(detail.substr(0, space));
  if (space != std::string_view::npos) letter.reason = detail.substr(space + 1);
  letter.round = round_in(letter.reason);
  letter.is_evaluation = letter.reason.starts_with("evaluate");
  letter.cause = event.cause;
  letter.subject = Incarnation{event.subject};
  letter.span = event.span;
  if (event.span != 0) letter.from = process_of_span(event.span);
  return letter;
}

std::string text_of(const Letter& letter) {
  std::string_view name = "letter";
  for (const auto& [text, kind] : kNames) {
    if (kind == letter.kind) name = text;
  }
  const Cause& cause = letter.cause;
  if (is_of_a_microbatch(letter.kind)) {
    return compose(name, letter.reason.empty() ? "" : " " + letter.reason, " of step ", cause.step, " microbatch ",
                   cause.microbatch, " at hop ", cause.hop);
  }
  const std::string round =
      letter.round ? compose(" of round ", letter.round->number, " of fragment ", letter.round->fragment) : "";
  return compose(name, round, " of step ", cause.step, ", stage ", cause.hop, ", epoch counter ", cause.attempt);
}

}  // namespace shoal::observed
