// Chooses the next failure of `shoal chaos`.
//
// A pure function of the seed, the number of the failure and the names that are there, whatever their order: the same
// seed on the same run chooses the same, as far as the same actors are there at the time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/cluster/operate/operator_words.h"

namespace shoal {

struct ChaosSettings {
  std::uint64_t seed = 1;
  std::set<std::string> kinds;  // some of chaos_kinds()
};

struct ChaosChoice {
  std::string name;
  InjectWords how;
  friend bool operator==(const ChaosChoice& a, const ChaosChoice& b) {
    return a.name == b.name && a.how.how == b.how.how && a.how.freeze_ms == b.how.freeze_ms;
  }
};

// Kinds of actors, "node" for whole processes, and "freeze": failures may also be silences of 0.5 to 5 s.
[[nodiscard]] const std::vector<std::string>& chaos_kinds();
// "stage,node": Errors: kUsage, with the nearest kind.
[[nodiscard]] Result<std::set<std::string>> parse_chaos_kinds(std::string_view text);
// "stage" of stage/1/0, "node" of node2.
[[nodiscard]] std::string kind_of(std::string_view name);

// First a kind among those that are there, then one of its names, then how. Nothing when nobody of the kinds is there.
[[nodiscard]] std::optional<ChaosChoice> choose_failure(const ChaosSettings& settings, std::uint64_t number,
                                                        const std::vector<std::string>& names);

}  // namespace shoal
