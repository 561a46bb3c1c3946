// A stretch of one branch's steps is left by strides that double until one meets a branch before it; the last is
// halved.
#include "runtime/trace/metrics/branches/branch_search.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

constexpr std::uint64_t kNearBytes = 64 << 10;  // a stretch of so many is read, not searched

struct StepPlace {
  std::uint32_t branch = 0;
  std::uint64_t begin = 0;  // offsets of its line
  std::uint64_t end = 0;
};

std::optional<std::uint32_t> branch_of_step(std::string_view line) {
  if (!line.starts_with(kStepLineBegin)) return std::nullopt;
  std::uint32_t branch = 0;
  const char* const number = line.data() + kStepLineBegin.size();
  const auto [rest, error] = std::from_chars(number, line.data() + line.size(), branch);
  return error == std::errc() ? std::optional(branch) : std::nullopt;
}

bool is_filled_in(std::string_view line) { return line.find(kFilledIn) != std::string_view::npos; }

// Returns the first step of this branch or a later one whose line begins at `from` or behind it, and ends at `until` or
// before it.
Result<std::optional<StepPlace>> step_between(const InputFile& file, std::uint64_t from, std::uint64_t until,
                                              std::uint32_t branch) {
  const std::uint64_t begin = from == 0 ? 0 : from - 1;  // is a newline, or in the line before
  MetricsLines lines(part_of(file.read_at, begin, until));
  if (from > 0) (void)lines.next();
  while (const auto line = lines.next()) {
    const auto found = branch_of_step(*line);
    const std::uint64_t end = begin + lines.end();
    if (found && *found >= branch) return std::optional(StepPlace{*found, end - line->size() - 1, end});
  }
  if (!lines.status()) return lines.status().failure();
  return std::optional<StepPlace>();
}

// Returns where the steps of this branch and of later ones begin; there is one of it before `until`.
Result<std::uint64_t> begin_of_steps(const InputFile& file, std::uint32_t branch, std::uint64_t until) {
  std::uint64_t found = until;   // the first one of them begins here or before
  std::uint64_t after = 0;       // not before here
  std::uint64_t before = until;  // from here on none begins before `found`
  for (std::uint64_t stride = kNearBytes; after + kNearBytes < before;) {
    const std::uint64_t at = before - std::min(stride, (before - after) / 2);
    const auto step = step_between(file, at, found, 0);
    if (!step) return step.failure();
    if (*step && (*step)->branch < branch) {
      after = (*step)->end;
    } else {
      if (*step) found = (*step)->begin;
      before = at;
      stride *= 2;
    }
  }
  const auto first = step_between(file, after, found, branch);
  if (!first) return first.failure();
  return *first ? (*first)->begin : found;
}

}  // namespace

Status read_between_branches_back(const InputFile& file, const std::function<void(std::string_view)>& take) {
  InputFile part = file;  // what is left, up to where a branch's steps begin
  while (part.size > 0) {
    std::optional<std::uint32_t> branch;
    const auto read = read_lines_back(part, [&](std::string_view line) {
      take(line);
      if (!is_filled_in(line)) branch = branch_of_step(line);
      return branch.has_value();
    });
    if (!read) return read.failure();
    if (branch.value_or(0) == 0) return Done{};  // a person's branch has a higher number than 0
    const auto begin = begin_of_steps(part, *branch, part.size);
    if (!begin) return begin.failure();
    part.size = *begin;
  }
  return Done{};
}

}  // namespace shoal
