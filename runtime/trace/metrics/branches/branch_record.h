// The line of metrics.jsonl with which a person's branch begins (`--resume --branch NAME`): where it goes on from, and
// what is set otherwise from there on.
//
//   {"event":"branch","subject":NAME,"reason":...,"step":N,"branch":B,"changes":[{"key":K,"was":V,"now":V},...],
//    "corpus_sha256":...}
//
// The line decides: from it on the run is on the branch, and lines of later steps before it are of an abandoned one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"

namespace shoal {

// A key of the configuration, and its values as TOML.
struct KeyChange {
  std::string key;
  std::string was;
  std::string now;
  friend bool operator==(const KeyChange&, const KeyChange&) = default;
};

struct BranchRecord {
  std::string name;
  Branch branch;           // the branch of its first step
  std::uint64_t step = 0;  // steps applied in the state that it goes on from
  std::vector<KeyChange> changes;
  std::string corpus_sha256;  // the text that it trains on
  friend bool operator==(const BranchRecord&, const BranchRecord&) = default;
};

// "optim.lr = 0.0005 (was 0.001), ..."; without changes: "nothing is set otherwise".
[[nodiscard]] std::string text_of(const std::vector<KeyChange>& changes);

[[nodiscard]] std::string to_json_line(const BranchRecord& record);

// Every branch that the file records, the newest first. Reads from the end, and leaves out what lies between the steps
// of one branch (branch_search.h).
[[nodiscard]] std::vector<BranchRecord> branches_told_by(const std::string& path);
// The newest one, where no step's line follows its own. Reads from the end, no further back than a step's line.
[[nodiscard]] std::optional<BranchRecord> branch_without_steps(const std::string& path);

}  // namespace shoal
