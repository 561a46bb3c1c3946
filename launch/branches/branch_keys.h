// Keys of the configuration that a run that goes on may have otherwise, and why the others stay. Pure.
//
//   free        where and how a run runs; what it computes stays
//   on a branch what it computes from a saved state on, of the same parts (--branch)
//   never       what the saved state, the numbers of its samples or its name are made of
#pragma once

#include <string>
#include <vector>

#include "runtime/base/config_keys.h"
#include "runtime/trace/metrics/branches/branch_record.h"

namespace shoal {

enum class KeyFreedom { kFree, kOnABranch, kNever };

struct KeyRule {
  KeyFreedom freedom = KeyFreedom::kFree;
  std::string why;  // reason of kNever: a sentence without its first capital and full stop
};

[[nodiscard]] KeyRule rule_of(const ConfigKey& key);

// Every key whose value differs, in the table's order.
[[nodiscard]] std::vector<KeyChange> changes_between(const Config& was, const Config& now);

// True when a change names another text: then the run need not find the one that it has had so far.
[[nodiscard]] bool names_text(const std::vector<KeyChange>& changes);

}  // namespace shoal
