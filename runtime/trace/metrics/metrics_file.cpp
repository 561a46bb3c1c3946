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
#include "runtime/base/text/json_fields.h"
#include "runtime/trace/metrics/metrics_core.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

Failure refused(const char* what, const std::string& path) {
  return fail(Error::kIo, compose("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

// A line that is a step's record; nothing for events, evaluations and damage.
std::optional<WrittenStep> step_of(const nlohmann::json& json) {
  const auto branch = count_field(json, "branch");
  const auto step = count_field(json, "step");
  if (!branch || !step || !json.contains("loss")) return std::nullopt;
  return WrittenStep{Branch{static_cast<std::uint32_t>(*branch)}, StepId{*step}};
}

// Reads an evaluation, as of branch 0 until the branch is known.
std::optional<WrittenEvaluation> evaluation_of(const nlohmann::json& json) {
  const auto step = count_field(json, "step");
  if (!step || !json.contains("val_loss")) return std::nullopt;
  WrittenEvaluation read{Branch{0}, *step, number_field(json, "val_loss").value_or(0)};
  if (json.contains("final") && json["final"].is_boolean()) read.is_final = json["final"].get<bool>();
  if (const auto windows = count_field(json, "windows")) read.windows = *windows;
  return read;
}

// Returns the journal position of a view record or a step's commit; 0 in other lines.
JournalPosition position_of(const nlohmann::json& json) {
  for (const char* key : {"position", "view"}) {
    if (const auto position = count_field(json, key)) return JournalPosition{*position};
  }
  return {};
}

[[nodiscard]] nlohmann::json parse(std::string_view line) { return nlohmann::json::parse(line, nullptr, false); }

// A file that cannot be read has no lines.
void read_back(const std::string& path, const std::function<bool(std::string_view)>& is_it) {
  if (const auto file = open_input(path)) (void)read_lines_back(*file, is_it);
}

// Reads lines from the last one back. An evaluation belongs to the branch of the last step before it. A step's line
// waits: before it stand lines of later entries, with those of as many steps between them as wait at most.
class LastLines {
 public:
  // False: more has to be read.
  [[nodiscard]] bool add(std::string_view line) {
    const auto json = parse(line);
    if (!evaluated_) evaluated_ = evaluation_of(json);
    if (!is_final_) is_final_ = json.is_object() && json.contains("weights_sha256");
    found_.view = std::max(found_.view, position_of(json));
    const auto step = step_of(json);
    if (!step) return false;
    if (steps_++ == 0) {
      found_.step = step;
      found_.is_final = *is_final_;
      found_.evaluation = evaluated_;
      if (evaluated_) found_.evaluation->branch = step->branch;
    }
    return steps_ > MetricsCore::kPendingMax;
  }
  [[nodiscard]] const WrittenLines& found() const { return found_; }

 private:
  WrittenLines found_;
  std::size_t steps_ = 0;
  std::optional<WrittenEvaluation> evaluated_;
  std::optional<bool> is_final_;
};

}  // namespace

std::optional<RunEventKind> end_told_by(const std::string& path) {
  nlohmann::json last;
  read_back(path, [&last](std::string_view line) {
    last = parse(line);
    return true;
  });
  const auto kind = run_event_kind(text_field(last, "event").value_or(""));
  return kind && ends_run(*kind) ? kind : std::nullopt;
}

std::optional<WrittenStep> newest_step_told_by(const std::string& path) {
  std::optional<WrittenStep> told;
  read_back(path, [&told](std::string_view line) {
    told = step_of(parse(line));
    return told.has_value();
  });
  return told;
}

std::optional<JournalPosition> commit_told_by(const std::string& path, const WrittenStep& step) {
  std::optional<JournalPosition> told;
  read_back(path, [&](std::string_view line) {
    const auto json = parse(line);
    if (step_of(json) == step) told = position_of(json);
    return told.has_value();
  });
  return told;
}

std::optional<std::uint64_t> start_without_steps(const std::string& path) {
  std::optional<std::uint64_t> start;
  read_back(path, [&start](std::string_view line) {
    const auto json = parse(line);
    const auto kind = run_event_kind(text_field(json, "event").value_or(""));
    const bool is_start = kind == RunEventKind::kResumed || kind == RunEventKind::kRolledBack;
    if (is_start) start = count_field(json, "step");
    return is_start || step_of(json).has_value();
  });
  return start;
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
    const bool is_branch = line.starts_with("{\"event\":\"branch\",");
    if (!is_branch && !line.starts_with("{\"event\":\"checkpoint\",")) return false;
    const auto told_step = count_field(parse(line), "step");
    if (!told_step) return false;
    const std::uint64_t step = *told_step;
    // A person's branch does not have the checkpoints that it left behind.
    if (is_branch) not_beyond = std::min(not_beyond, step);
    if (!is_branch && step <= not_beyond) told = step;
    return told.has_value();
  });
  return told;
}

Result<MetricsFile> MetricsFile::open(const std::string& path, std::uint64_t left) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return refused("open", path);
  MetricsFile file(descriptor, path, left);
  const auto input = open_input(path);
  if (!input) return input.failure();
  LastLines last;
  const auto end = read_lines_back(*input, [&last](std::string_view line) { return last.add(line); });
  if (!end) return end.failure();
  file.size_ = *end;
  file.written_ = last.found();
  return file;
}

MetricsFile::MetricsFile(MetricsFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      left_(other.left_),
      grant_(other.grant_),
      size_(other.size_),
      written_(other.written_) {}

MetricsFile& MetricsFile::operator=(MetricsFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(left_, other.left_);
  std::swap(grant_, other.grant_);
  std::swap(size_, other.size_);
  std::swap(written_, other.written_);
  return *this;
}

MetricsFile::~MetricsFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status MetricsFile::take_space(std::uint64_t bytes) {
  if (left_ == 0) return Done{};
  if (!grant_.covers(bytes)) {
    const auto usable = usable_space(path_, bytes, left_);
    if (!usable) return usable.failure();
    grant_.answered(bytes, *usable);
  }
  grant_.take(bytes);
  return Done{};
}

Status MetricsFile::append(const std::string& line) {
  const auto end = static_cast<off_t>(size_);
  if (::ftruncate(descriptor_, end) != 0) return refused("write", path_);
  const std::string text = line + '\n';
  if (auto fits = take_space(text.size()); !fits) return fits.failure();
  for (std::size_t done = 0; done < text.size();) {
    const auto at = static_cast<off_t>(size_ + done);
    const ssize_t written = ::pwrite(descriptor_, text.data() + done, text.size() - done, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const Failure failure = refused("write", path_);
      grant_.refused();
      return ::ftruncate(descriptor_, end) == 0 ? failure : refused("shorten", path_);
    }
    done += static_cast<std::size_t>(written);
  }
  size_ += text.size();
  return Done{};
}

Status MetricsFile::sync() { return ::fdatasync(descriptor_) == 0 ? Status(Done{}) : refused("sync", path_); }

}  // namespace shoal
