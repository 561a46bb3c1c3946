// The control endpoint's HTTP/1.1, of both sides, and targets with their query.
//
//   input = pieces:u8  text        the text comes in pieces of so many bytes (0: at once)
//
// However a message is cut into pieces, the outcome is the same; a message that was read fits the limits.
#include "runtime/transport/control/http_message.h"

#include <algorithm>

#include "runtime/base/ensure.h"
#include "tests/fuzz/harness.h"

namespace shoal::fuzz {
namespace http {
namespace {

using Progress = HttpReader::Progress;

constexpr HttpLimits kLimits{2048, 4096};

// The reader's word on the text, and how much of it the reader had when it said so.
struct Outcome {
  Progress progress = Progress::kMore;
  std::size_t taken = 0;
};

Outcome feed(HttpReader& reader, std::string_view text, std::size_t piece) {
  Outcome outcome;
  while (outcome.progress == Progress::kMore && outcome.taken < text.size()) {
    const std::string_view bytes = text.substr(outcome.taken, piece);
    outcome.progress = reader.feed(bytes);
    outcome.taken += bytes.size();
  }
  return outcome;
}

void check_message(const HttpMessage& message) {
  std::size_t head = message.first.size() + message.second.size();
  for (const auto& [name, value] : message.headers) head += name.size() + value.size();
  ENSURE(head <= kLimits.head_bytes_max && message.body.size() <= kLimits.body_bytes_max,
         "a message within its limits");
  const auto target = parse_target(message.second);
  if (!target) return;
  for (const auto& [name, value] : target->query) {
    const auto again = parse_target("/?" + escape_query(name) + "=" + escape_query(value));
    ENSURE(again && again->query.size() == 1 && again->query.begin()->first == name &&
               again->query.begin()->second == value,
           "an escape comes back");
  }
}

bool accepts(std::string_view input) {
  Cursor cursor(input);
  const std::size_t piece = cursor.byte();
  const std::string_view text = cursor.rest();
  HttpReader cut(kLimits);
  const Outcome in_pieces = feed(cut, text, piece == 0 ? text.size() : piece);
  HttpReader whole(kLimits);
  const Outcome at_once = feed(whole, text.substr(0, in_pieces.taken), in_pieces.taken);
  const bool is_complete = in_pieces.progress == Progress::kComplete;
  ENSURE(is_complete == (at_once.progress == Progress::kComplete), "pieces decide whether a message is whole");
  if (!is_complete) return false;
  ENSURE(cut.message().headers == whole.message().headers && cut.message().body == whole.message().body,
         "pieces decide what a message says");
  check_message(cut.message());
  return true;
}

std::vector<std::string> samples() {
  constexpr std::string_view kDate = "Tue, 15 Nov 1994 08:12:31 GMT";
  std::vector<std::string> inputs;
  for (const char piece : {'\0', '\1', '\x10'}) {
    const std::string front(1, piece);
    inputs.push_back(front + request_text("POST", "/v1/enrol", "localhost:7000", R"({"secret": "00"})"));
    inputs.push_back(front + request_text("GET", "/v1/logs?name=stage%2F0&follow=1", "[::1]:7000", ""));
    inputs.push_back(front + response_text(200, "{}", kDate));
    inputs.push_back(front + response_text(403, R"({"error": "refused"})", kDate));
  }
  return inputs;
}

}  // namespace
}  // namespace http

const Harness kHttp{"http", http::samples, http::accepts};

}  // namespace shoal::fuzz
