// One pass over all entries, counting.
#include "runtime/sync/sync_group_verdict.h"

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal {

ManifestVerdict judge_manifests(const std::vector<MemberManifest>& manifests, std::uint32_t planned,
                                const std::set<MicrobatchId>& left_out) {
  ManifestVerdict verdict;
  std::vector<std::uint32_t> seen(planned, 0);
  for (const MemberManifest& manifest : manifests) {
    for (const ManifestEntry& entry : manifest.entries) {
      verdict.token_count += entry.token_count;
      if (entry.microbatch.value < planned && !left_out.contains(entry.microbatch)) {
        ++seen[entry.microbatch.value];
      } else {
        verdict.unknown.push_back(entry.microbatch);
      }
    }
  }
  for (std::uint32_t index = 0; index < planned; ++index) {
    const bool is_wanted = !left_out.contains(MicrobatchId{index});
    if (seen[index] == 0 && is_wanted) verdict.missing.push_back(MicrobatchId{index});
    if (seen[index] > 1) verdict.twice.push_back(MicrobatchId{index});
  }
  return verdict;
}

std::string list_microbatches(const std::vector<MicrobatchId>& microbatches) {
  constexpr std::size_t kNamed = 8;
  std::string text;
  for (std::size_t index = 0; index < std::min(kNamed, microbatches.size()); ++index) {
    text += compose(index == 0 ? "" : " ", microbatches[index]);
  }
  if (microbatches.size() > kNamed) text += compose(" ... (", microbatches.size(), " in all)");
  return text;
}

std::string list_members(const std::set<Incarnation>& members) {
  std::string text;
  for (const Incarnation member : members) text += compose(text.empty() ? "" : " ", member);
  return text;
}

}  // namespace shoal
