// Answers how many replicas a stage should have: pipeline.replicas, one number for all stages or one for each.
//
// All that place, count or name replicas ask here, so that both forms of the key mean the same everywhere. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/compose.h"
#include "runtime/base/config.h"

namespace shoal {

class ReplicasWanted {
 public:
  ReplicasWanted(std::uint32_t each = 1) : each_(each) {}  // NOLINT: a number of replicas is one of every stage
  explicit ReplicasWanted(std::vector<std::uint32_t> listed) : listed_(std::move(listed)) {}

  // A stage beyond the list wants none: names of such stages are looked for, too.
  [[nodiscard]] std::uint32_t of(StageId stage) const {
    if (listed_.empty()) return each_;
    return stage.value < listed_.size() ? listed_[stage.value] : 0;
  }
  [[nodiscard]] std::size_t total(std::uint32_t stages) const {
    std::size_t sum = 0;
    for (std::uint32_t stage = 0; stage < stages; ++stage) sum += of(StageId{stage});
    return sum;
  }
  [[nodiscard]] std::uint32_t most() const { return listed_.empty() ? each_ : *std::ranges::max_element(listed_); }
  [[nodiscard]] std::uint32_t least() const { return listed_.empty() ? each_ : *std::ranges::min_element(listed_); }
  [[nodiscard]] bool is_listed() const { return !listed_.empty(); }
  [[nodiscard]] std::vector<std::uint32_t> listed(std::uint32_t stages) const {
    std::vector<std::uint32_t> counts;
    for (std::uint32_t stage = 0; stage < stages; ++stage) counts.push_back(of(StageId{stage}));
    return counts;
  }
  // As the key has it: "2", or "[5, 1, 1, 1]".
  [[nodiscard]] std::string text() const {
    if (listed_.empty()) return compose(each_);
    std::string out;
    for (const std::uint32_t count : listed_) out += compose(out.empty() ? "" : ", ", count);
    return "[" + out + "]";
  }

 private:
  std::uint32_t each_ = 1;
  std::vector<std::uint32_t> listed_;  // by stage; empty: each_ of every stage
};

[[nodiscard]] inline ReplicasWanted replicas_wanted(const PipelineConfig& pipeline) {
  if (pipeline.replicas_listed.empty()) return static_cast<std::uint32_t>(pipeline.replicas);
  return ReplicasWanted(std::vector<std::uint32_t>(pipeline.replicas_listed.begin(), pipeline.replicas_listed.end()));
}

}  // namespace shoal
