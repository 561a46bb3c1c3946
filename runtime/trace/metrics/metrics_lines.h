// The lines of metrics.jsonl, first to last or last to first: in pieces, because that of a run of months may be larger
// than memory.
//
// Whole lines only, without their newline. One longer than any writer makes is damage, and left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace shoal {

// Begins the line of a step, and no other.
inline constexpr std::string_view kStepLineBegin = "{\"branch\":";
// In the line of a step that was told from the journal.
inline constexpr std::string_view kFilledIn = "\"filled\":true";

inline constexpr std::size_t kLineBytesMax = std::size_t{1} << 20U;

// First to last, of a file that may grow meanwhile.
class MetricsLines {
 public:
  explicit MetricsLines(ReadAt read_at) : read_at_(std::move(read_at)) {}

  // The next line, good until the next call. Nothing: there is none by now, or it cannot be read.
  [[nodiscard]] std::optional<std::string_view> next();
  // Offset at which the last line that was given ends.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  // Errors: kIo: the file could not be read further.
  [[nodiscard]] const Status& status() const { return status_; }
  // Returns its number in the file, from 1 on; those that were left out have one, too.
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  // Returns where the new bytes begin in the piece; nothing: there is no more now.
  [[nodiscard]] std::optional<std::size_t> read_more();

  ReadAt read_at_;
  Status status_ = Done{};
  std::uint64_t end_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t passed_over_ = 0;  // bytes of a line that is too long
  std::string piece_;              // the bytes that follow
  std::size_t given_ = 0;          // bytes of the piece
};

// Gives every whole line of the file at `path`, first to last. Errors: kIo: it is not there, or cannot be read.
[[nodiscard]] Status read_metrics_lines(const std::string& path, const std::function<void(std::string_view)>& take);

// Last to first, until is_it(line) says true. Gives where the last whole line ends. Errors: kIo.
[[nodiscard]] Result<std::uint64_t> read_lines_back(const InputFile& file,
                                                    const std::function<bool(std::string_view)>& is_it);

}  // namespace shoal
