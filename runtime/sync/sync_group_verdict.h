// Judges the manifests of a stage's members together: every planned microbatch exactly once, or which ones are not
// (S-1, P-16). Pure; the commit check of the whole design is this function.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "messages/sync.h"

namespace shoal {

struct ManifestVerdict {
  std::vector<MicrobatchId> twice;    // in more than one place, ascending
  std::vector<MicrobatchId> missing;  // nowhere, ascending
  std::vector<MicrobatchId> unknown;  // not in the plan, or not any more
  std::uint64_t token_count = 0;      // sum over all entries
  [[nodiscard]] bool is_exactly_once() const { return twice.empty() && missing.empty() && unknown.empty(); }
};

// The plan is 0 .. planned-1 without those that are left out.
[[nodiscard]] ManifestVerdict judge_manifests(const std::vector<MemberManifest>& manifests, std::uint32_t planned,
                                              const std::set<MicrobatchId>& left_out = {});

// "3 7 8 (12 in all)": at most eight numbers, for people.
[[nodiscard]] std::string list_microbatches(const std::vector<MicrobatchId>& microbatches);
// "12 14".
[[nodiscard]] std::string list_members(const std::set<Incarnation>& members);

}  // namespace shoal
