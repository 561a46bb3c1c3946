// The small part of HTTP/1.1 that the control endpoint speaks: one request, one response, then the connection ends.
//
//   message = start-line CRLF *(name ":" value CRLF) CRLF body      body = Content-Length bytes
//
// No chunked bodies, no pipelining, no continuation: what is not of this grammar is refused by a status. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace shoal {

struct HttpLimits {
  std::size_t head_bytes_max = 16u << 10;
  std::size_t body_bytes_max = 256u << 10;
};

struct HttpMessage {
  std::string first;                           // method or version
  std::string second;                          // target or status
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// Collects bytes until a message is complete.
class HttpReader {
 public:
  explicit HttpReader(HttpLimits limits = {}) : limits_(limits) {}

  enum class Progress { kMore, kComplete, kTooLarge, kMalformed };
  // Bytes after the message make it malformed.
  [[nodiscard]] Progress feed(std::string_view bytes);
  // Valid after kComplete.
  [[nodiscard]] const HttpMessage& message() const { return message_; }

 private:
  [[nodiscard]] Progress parse_head(std::string_view head);
  [[nodiscard]] Progress finish_body();

  HttpLimits limits_;
  std::string buffer_;
  std::optional<std::size_t> body_bytes_;
  HttpMessage message_;
};

struct HttpTarget {
  std::string path;
  std::map<std::string, std::string> query;
};
// "/v1/logs?name=stage%2F0" -> path and decoded query. Nothing if an escape is malformed.
[[nodiscard]] std::optional<HttpTarget> parse_target(std::string_view target);
// The inverse for one value of a query.
[[nodiscard]] std::string escape_query(std::string_view value);

[[nodiscard]] std::string_view status_phrase(int status);
// date: of the answer, as "Tue, 15 Nov 1994 08:12:31 GMT".
[[nodiscard]] std::string response_text(int status, std::string_view body, std::string_view date);
[[nodiscard]] std::string request_text(std::string_view method, std::string_view target, std::string_view host,
                                       std::string_view body);

}  // namespace shoal
