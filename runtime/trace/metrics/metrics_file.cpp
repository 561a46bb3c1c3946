// Whole lines by truncating to the last good end before each one (see the header).
#include "runtime/trace/metrics/metrics_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::uint64_t kTailBytes = 1U << 20U;  // read first; more where no step is in it

Failure refused(const char* what, const std::string& path) {
  return fail(Error::kIo, compose("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

// A line that is a step's record; nothing for events, evaluations and damage.
std::optional<WrittenStep> step_of(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("loss") || !json.contains("branch") || !json.contains("step")) {
    return std::nullopt;
  }
  const auto& branch = json["branch"];
  const auto& step = json["step"];
  if (!branch.is_number_unsigned() || !step.is_number_unsigned()) return std::nullopt;
  return WrittenStep{Branch{branch.get<std::uint32_t>()}, StepId{step.get<std::uint64_t>()}};
}

std::optional<std::uint64_t> evaluated_step_of(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("val_loss") || !json.contains("step")) return std::nullopt;
  const auto& step = json["step"];
  return step.is_number_unsigned() ? std::optional(step.get<std::uint64_t>()) : std::nullopt;
}

// Where in the journal a view record or a step's commit stood; 0 in other lines.
JournalPosition position_of(const nlohmann::json& json) {
  for (const char* key : {"position", "view"}) {
    if (json.is_object() && json.contains(key) && json[key].is_number_unsigned()) {
      return JournalPosition{json[key].get<std::uint64_t>()};
    }
  }
  return {};
}

// The last line of these whole lines, without its newline; it is taken off.
std::string_view take_last_line(std::string_view& lines) {
  lines.remove_suffix(1);
  const std::size_t before = lines.rfind('\n');
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::string_view last = lines.substr(begin);
  lines = lines.substr(0, begin);
  return last;
}

// The whole lines within the last bytes of a file; the first of them may lack its beginning.
struct Tail {
  std::string lines;
  std::uint64_t begin = 0;  // where they begin in the file
};

std::optional<Tail> read_tail(int descriptor, std::uint64_t file_bytes, std::uint64_t wanted) {
  Tail tail{std::string(std::min(file_bytes, wanted), '\0'), file_bytes - std::min(file_bytes, wanted)};
  const ssize_t count = ::pread(descriptor, tail.lines.data(), tail.lines.size(), static_cast<off_t>(tail.begin));
  if (count != static_cast<ssize_t>(tail.lines.size())) return std::nullopt;
  const std::size_t newline = tail.lines.rfind('\n');
  tail.lines.resize(newline == std::string::npos ? 0 : newline + 1);
  return tail;
}

[[nodiscard]] nlohmann::json parse(std::string_view line) { return nlohmann::json::parse(line, nullptr, false); }

// Whole lines from the last one back, until is_it(line) says true. A file that cannot be read has none.
void read_back(const std::string& path, const std::function<bool(std::string_view)>& is_it) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  const off_t end = ::lseek(descriptor, 0, SEEK_END);
  bool is_found = false;
  for (std::uint64_t wanted = kTailBytes; !is_found; wanted *= 8) {
    const auto tail = end > 0 ? read_tail(descriptor, static_cast<std::uint64_t>(end), wanted) : std::nullopt;
    if (!tail) break;
    for (std::string_view lines = tail->lines; !is_found && !lines.empty();) is_found = is_it(take_last_line(lines));
    if (tail->begin == 0) break;
  }
  ::close(descriptor);
}

// Of the whole lines of `tail`, from its end. An evaluation belongs to the branch of the last step before it. A step's
// line waits: before it stand lines of later entries, with those of as many steps between them as wait at most.
// Nothing: more has to be read.
std::optional<WrittenLines> last_lines_of(std::string_view tail, bool is_whole_file) {
  std::size_t steps = 0;
  std::optional<std::uint64_t> evaluated;
  std::optional<bool> is_final;
  WrittenLines lines;
  while (!tail.empty() && steps <= MetricsCore::kPendingMax) {
    const auto json = parse(take_last_line(tail));
    if (!evaluated) evaluated = evaluated_step_of(json);
    if (!is_final) is_final = json.is_object() && json.contains("weights_sha256");
    lines.view = std::max(lines.view, position_of(json));
    const auto step = step_of(json);
    if (!step || steps++ > 0) continue;
    lines.step = step;
    lines.is_final = *is_final;
    if (evaluated) lines.evaluation = WrittenEvaluation{step->branch, *evaluated};
  }
  const bool is_enough = is_whole_file || steps > MetricsCore::kPendingMax;
  return is_enough ? std::optional(lines) : std::nullopt;
}

}  // namespace

std::optional<std::string> end_told_by(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const off_t end = ::lseek(descriptor, 0, SEEK_END);
  const auto tail = end > 0 ? read_tail(descriptor, static_cast<std::uint64_t>(end), kTailBytes) : std::nullopt;
  ::close(descriptor);
  if (!tail || tail->lines.empty()) return std::nullopt;
  std::string_view lines = tail->lines;
  const auto last = parse(take_last_line(lines));
  if (!last.is_object() || !last.contains("event") || !last["event"].is_string()) return std::nullopt;
  auto word = last["event"].get<std::string>();
  const bool is_end = word == "finished" || word == "stopped" || word == "failed";
  return is_end ? std::optional(std::move(word)) : std::nullopt;
}

JournalPosition commit_told_by(const std::string& path, const WrittenStep& step) {
  std::optional<JournalPosition> told;
  read_back(path, [&](std::string_view line) {
    const auto json = parse(line);
    if (step_of(json) == step) told = position_of(json);
    return told.has_value();
  });
  return told.value_or(JournalPosition{});
}

JournalPosition newest_entry_told_by(const std::string& path) {
  JournalPosition told;
  read_back(path, [&](std::string_view line) {
    told = position_of(parse(line));
    return told.value > 0;
  });
  return told;
}

std::optional<std::uint64_t> checkpoint_told_by(const std::string& path, std::uint64_t not_beyond) {
  std::optional<std::uint64_t> told;
  read_back(path, [&](std::string_view line) {
    if (!line.starts_with("{\"event\":\"checkpoint\",")) return false;
    const auto json = parse(line);
    const bool has_step = json.is_object() && json.contains("step") && json["step"].is_number_unsigned();
    if (has_step && json["step"] <= not_beyond) told = json["step"].get<std::uint64_t>();
    return told.has_value();
  });
  return told;
}

Result<MetricsFile> MetricsFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return refused("open", path);
  MetricsFile file(descriptor, path);
  const off_t end = ::lseek(descriptor, 0, SEEK_END);
  if (end < 0) return refused("read", path);
  for (std::uint64_t wanted = kTailBytes;; wanted *= 8) {
    const auto tail = read_tail(descriptor, static_cast<std::uint64_t>(end), wanted);
    if (!tail) return refused("read", path);
    file.size_ = tail->begin + tail->lines.size();
    const auto lines = last_lines_of(tail->lines, tail->begin == 0);
    if (!lines) continue;
    file.written_ = *lines;
    return file;
  }
}

MetricsFile::MetricsFile(MetricsFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      size_(other.size_),
      written_(other.written_) {}

MetricsFile& MetricsFile::operator=(MetricsFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(written_, other.written_);
  return *this;
}

MetricsFile::~MetricsFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status MetricsFile::append(const std::string& line) {
  const auto end = static_cast<off_t>(size_);
  if (::ftruncate(descriptor_, end) != 0) return refused("write", path_);
  const std::string text = line + '\n';
  for (std::size_t done = 0; done < text.size();) {
    const auto at = static_cast<off_t>(size_ + done);
    const ssize_t written = ::pwrite(descriptor_, text.data() + done, text.size() - done, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const Failure failure = refused("write", path_);
      return ::ftruncate(descriptor_, end) == 0 ? failure : refused("shorten", path_);
    }
    done += static_cast<std::size_t>(written);
  }
  size_ += text.size();
  return Done{};
}

}  // namespace shoal
