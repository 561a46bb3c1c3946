// A strict reader: what two parsers could read in two ways (lengths twice, other encodings) is malformed here.
#include "runtime/transport/control/http_message.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/compose.h"
#include "runtime/base/text/trimmed.h"

namespace shoal {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::size_t kHeadersMax = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The text up to `separator`, which is taken away with it; all of it when there is none.
std::string_view take_until(std::string_view& text, std::string_view separator) {
  const auto at = text.find(separator);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + separator.size());
  return taken;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else {
      unsigned value = 0;
      const char* begin = text.data() + i + 1;
      if (text.size() - i < 3 || std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) return std::nullopt;
      out.push_back(static_cast<char>(value));
      i += 2;
    }
  }
  return out;
}

}  // namespace

HttpReader::Progress HttpReader::feed(std::string_view bytes) {
  buffer_.append(bytes);
  if (!body_bytes_) {
    const auto end = buffer_.find(kEndOfHead);
    if (end == std::string::npos) {
      return buffer_.size() > limits_.head_bytes_max ? Progress::kTooLarge : Progress::kMore;
    }
    if (end > limits_.head_bytes_max) return Progress::kTooLarge;
    const Progress parsed = parse_head(std::string_view(buffer_).substr(0, end));
    if (parsed != Progress::kMore) return parsed;
    buffer_.erase(0, end + kEndOfHead.size());
  }
  return finish_body();
}

HttpReader::Progress HttpReader::parse_head(std::string_view head) {
  std::string_view start = take_until(head, "\r\n");
  message_.first = std::string(take_until(start, " "));
  message_.second = std::string(take_until(start, " "));
  if (message_.first.empty() || message_.second.empty() || !is_printable(message_.first) ||
      !is_printable(message_.second)) {
    return Progress::kMalformed;
  }
  while (!head.empty()) {
    std::string_view line = take_until(head, "\r\n");
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || !is_printable(line)) return Progress::kMalformed;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), lower);
    const bool is_new = message_.headers.emplace(name, trimmed(line.substr(colon + 1))).second;
    if (message_.headers.size() > kHeadersMax) return Progress::kTooLarge;
    if (!is_new && name == "content-length") return Progress::kMalformed;
  }
  if (message_.headers.contains("transfer-encoding")) return Progress::kMalformed;
  const auto length = message_.headers.find("content-length");
  body_bytes_ = 0;
  if (length == message_.headers.end()) return Progress::kMore;
  const std::string& digits = length->second;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), *body_bytes_);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return Progress::kMalformed;
  return *body_bytes_ > limits_.body_bytes_max ? Progress::kTooLarge : Progress::kMore;
}

HttpReader::Progress HttpReader::finish_body() {
  if (buffer_.size() < *body_bytes_) return Progress::kMore;
  if (buffer_.size() > *body_bytes_) return Progress::kMalformed;
  message_.body = std::move(buffer_);
  return Progress::kComplete;
}

std::optional<HttpTarget> parse_target(std::string_view target) {
  HttpTarget parsed;
  parsed.path = std::string(take_until(target, "?"));
  while (!target.empty()) {
    std::string_view pair = take_until(target, "&");
    const auto name = unescape(take_until(pair, "="));
    const auto value = unescape(pair);
    if (!name || !value) return std::nullopt;
    parsed.query.emplace(*name, *value);
  }
  return parsed;
}

std::string escape_query(std::string_view value) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : value) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    if (is_plain) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 0xf]);
    }
  }
  return out;
}

std::string_view status_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Content Too Large";
    case 426: return "Upgrade Required";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    default: return "Status";
  }
}

std::string response_text(int status, std::string_view body, std::string_view date) {
  return compose("HTTP/1.1 ", status, ' ', status_phrase(status), "\r\nDate: ", date,
                 "\r\nContent-Type: application/json\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n",
                 body);
}

std::string request_text(std::string_view method, std::string_view target, std::string_view host,
                         std::string_view body) {
  return compose(method, ' ', target, " HTTP/1.1\r\nHost: ", host,
                 "\r\nContent-Type: application/json\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n",
                 body);
}

}  // namespace shoal
