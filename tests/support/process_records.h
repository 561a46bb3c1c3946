// metrics.jsonl as values: what a test asks of a run that ends, or that still goes on.
// Only whole lines count, so a file that is being written can be read at any time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ios>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal {

struct StepLine {
  std::uint64_t step = 0;
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  double step_ms = 0;
  double time_ms = 0;  // the sum over time{}
  std::string text;    // the whole line
};

struct EventLine {
  std::string event;
  std::string subject;
  std::string reason;
  std::string text;
};

struct EvalLine {
  std::uint64_t step = 0;
  double val_loss = 0;
  bool is_final = false;
  std::uint64_t windows = 0;
  std::uint64_t tokens = 0;
};

// "finished" or "stopped".
struct FinalLine {
  std::string event;
  std::uint64_t steps = 0;
  std::uint64_t tokens_total = 0;
  std::string weights_sha256;
  std::string text;
};

struct RunRecords {
  std::vector<std::string> lines;  // all that are whole
  std::vector<StepLine> steps;
  std::vector<EventLine> events;
  std::vector<EvalLine> evaluations;
  std::vector<std::string> summaries;  // whole lines
  std::vector<FinalLine> finals;       // one per start of the run that came to an end
  std::vector<std::string> damaged;    // lines that are no JSON
  std::string last_line;

  [[nodiscard]] std::vector<double> losses() const;
  // The weights of the last final line; empty without one.
  [[nodiscard]] std::string weights() const;
};

// Reads what is there of the file by now; a line without its newline is not there yet.
[[nodiscard]] RunRecords read_records(const std::filesystem::path& metrics_jsonl);

// Follows the file of a run that goes on: each read() costs what was written since the one before. Lines are only ever
// added to the file: what follows its last whole line is not read yet.
class RecordsFollower {
 public:
  explicit RecordsFollower(std::filesystem::path metrics_jsonl) : path_(std::move(metrics_jsonl)) {}
  [[nodiscard]] const RunRecords& read();

 private:
  std::filesystem::path path_;
  std::streamoff read_ = 0;  // bytes
  RunRecords records_;
};

}  // namespace shoal
