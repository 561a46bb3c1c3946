// Keys of the configuration that a run that goes on may have otherwise, and why the others stay. Pure.
//
//   free        where and how a run runs; what it computes stays, by the key alone or with these values
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

// Judges the key alone, whatever its values and those of other keys are.
[[nodiscard]] KeyRule rule_of(const ConfigKey& key);

// Judges a change of the key from one configuration to the other. It is free, too, where both compute the same bits:
// sync.backend says in which order a step is added up, and a sum of integers (sync.reduction = exact) is the same in
// any. Rounds are float32 in either reduction, and a ring and owners add them up in different orders.
// data.tokenizer may name the file at another place: that it makes the same tokens is checked with the text.
[[nodiscard]] KeyRule rule_between(const ConfigKey& key, const Config& was, const Config& now);

// Every key whose value differs, in the table's order.
[[nodiscard]] std::vector<KeyChange> changes_between(const Config& was, const Config& now);

// True when a change names another text: then the run need not find the one that it has had so far.
[[nodiscard]] bool names_text(const std::vector<KeyChange>& changes);

}  // namespace shoal
