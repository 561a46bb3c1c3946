// Nothing overtakes a line that waits, so that the file keeps the order in which lines were given.
#include "runtime/trace/metrics/metrics_outbox.h"

#include <filesystem>
#include <utility>
#include <variant>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {
namespace {

struct StepOf {
  std::uint64_t operator()(const FinalRecord& record) const { return record.steps; }
  std::uint64_t operator()(const SummaryRecord& record) const { return record.steps; }
  std::uint64_t operator()(const auto& record) const { return record.step; }
};

}  // namespace

Result<WrittenLines> MetricsOutbox::open() {
  auto file = MetricsFile::open(path_, left_);
  if (!file) return file.failure();
  file_.emplace(std::move(file.value()));
  return file_->written();
}

WallTime MetricsOutbox::by_clock_of_last_line(const BothClocks& now) const {
  const std::chrono::duration<double, std::milli> by(clock_.set_by_ms(now));
  return now.wall - std::chrono::duration_cast<WallTime::duration>(by);
}

std::optional<std::string> MetricsOutbox::write(const MetricsOutput& output, const BothClocks& now) {
  std::string line = std::visit([](const auto& record) { return to_json_line(record); }, output);
  if (line.empty()) return std::nullopt;
  const bool has_waited = !refusal_.empty();
  if (const double by_ms = clock_.set_by_ms(now); by_ms != 0) line = with_clock_set(std::move(line), by_ms);
  clock_.take(now);
  keep({with_time(std::move(line), now.wall), std::visit(StepOf{}, output)});
  const Status written = write_waiting(now.wall);
  if (written) return has_waited ? std::optional(all_is_written()) : std::nullopt;
  if (has_waited) return std::nullopt;
  refusal_ = written.failure().message;
  return compose(refusal_, "; lines wait until it can be written, and training goes on");
}

void MetricsOutbox::keep(Line line) {
  waiting_bytes_ += line.text.size();
  waiting_.push_back(std::move(line));
  while (waiting_bytes_ > kWaitingBytesMax) {
    waiting_bytes_ -= waiting_.front().text.size();
    lost_step_ = waiting_.front().step;
    ++lost_;
    waiting_.pop_front();
  }
}

Status MetricsOutbox::write_waiting(WallTime now) {
  if (lost_ > 0) {
    const std::string name = std::filesystem::path(path_).filename().string();
    const RunEvent event{RunEventKind::kLinesLost, name,
                         compose(counted(lost_, "line"), " before this one: ", refusal_), lost_step_};
    if (Status told = append(with_time(to_json_line(event), now)); !told) return told;
    told_lost_ += std::exchange(lost_, 0);
  }
  while (!waiting_.empty()) {
    if (Status written = append(waiting_.front().text); !written) return written;
    waiting_bytes_ -= waiting_.front().text.size();
    waiting_.pop_front();
    if (!refusal_.empty()) ++late_;
  }
  return Done{};
}

Status MetricsOutbox::append(const std::string& line) {
  if (!file_) {
    if (const auto opened = open(); !opened) return opened.failure();
  }
  return file_->append(line);
}

std::string MetricsOutbox::all_is_written() {
  refusal_.clear();
  const std::uint64_t late = std::exchange(late_, 0) - 1;  // the newest has not waited
  const std::uint64_t lost = std::exchange(told_lost_, 0);
  return compose(path_, " can be written again: ", late, " lines that waited are in it, ", lost, " are lost");
}

}  // namespace shoal
