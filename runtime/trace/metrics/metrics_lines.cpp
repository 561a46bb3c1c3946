// A piece is read, its lines are given, and what it has of the next line is kept.
#include "runtime/trace/metrics/metrics_lines.h"

#include <algorithm>
#include <span>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;

// Reads the piece of the file before `text`, and puts it before the text.
Status read_before(const InputFile& file, std::uint64_t& begin, std::string& text) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(begin, kPieceBytes));
  text.insert(0, wanted, '\0');
  begin -= wanted;
  const auto count = file.read_at(begin, std::span(text).first(wanted));
  if (!count) return count.failure();
  return *count == wanted ? Status(Done{}) : fail(Error::kIo, compose("a file became shorter than ", begin + wanted));
}

}  // namespace

std::optional<std::string_view> MetricsLines::next() {
  for (std::size_t searched = given_;;) {
    const std::size_t newline = piece_.find('\n', searched);
    if (newline == std::string::npos) {
      const auto added = read_more();
      if (!added) return std::nullopt;
      searched = *added;
      continue;
    }
    const std::string_view line = std::string_view(piece_).substr(given_, newline - given_);
    given_ = searched = newline + 1;
    end_ += passed_over_ + line.size() + 1;
    ++number_;
    if (std::exchange(passed_over_, 0) == 0) return line;
  }
}

// At the end of the file an unfinished line is dropped and read again later: its writer may have begun it anew.
std::optional<std::size_t> MetricsLines::read_more() {
  piece_.erase(0, given_);
  given_ = 0;
  if (piece_.size() > kLineBytesMax) {
    passed_over_ += piece_.size();
    piece_.clear();
  }
  const std::size_t kept = piece_.size();
  piece_.resize(kept + kPieceBytes);
  const auto count = read_at_(end_ + passed_over_ + kept, std::span(piece_).subspan(kept));
  if (count && *count > 0) {
    piece_.resize(kept + *count);
    return kept;
  }
  status_ = count ? Status(Done{}) : count.failure();
  piece_.clear();
  passed_over_ = 0;
  return std::nullopt;
}

Status read_metrics_lines(const std::string& path, const std::function<void(std::string_view)>& take) {
  auto file = open_input(path);
  if (!file) return file.failure();
  MetricsLines lines(std::move(file->read_at));
  while (const auto line = lines.next()) take(*line);
  return lines.status();
}

Result<std::uint64_t> read_lines_back(const InputFile& file, const std::function<bool(std::string_view)>& is_it) {
  std::optional<std::uint64_t> end;
  std::uint64_t begin = file.size;
  std::string text;  // from `begin` on: what precedes a newline whose line was given, or no whole line
  bool is_too_long = false;
  while (begin > 0) {
    if (auto read = read_before(file, begin, text); !read) return read.failure();
    for (std::size_t newline = text.rfind('\n'); newline != std::string::npos; newline = text.rfind('\n')) {
      const bool is_line = end.has_value() && !is_too_long;
      if (is_line && is_it(std::string_view(text).substr(newline + 1))) return *end;
      if (!end) end = begin + newline + 1;
      is_too_long = false;
      text.resize(newline);
    }
    is_too_long = is_too_long || text.size() > kLineBytesMax;
    if (is_too_long || !end) text.clear();
  }
  if (end && !is_too_long) (void)is_it(text);
  return end.value_or(0);
}

}  // namespace shoal
