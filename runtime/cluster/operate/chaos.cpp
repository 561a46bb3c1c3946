// Draws are Philox words of (seed, number), so no state is kept between failures.
#include "runtime/cluster/operate/chaos.h"

#include <algorithm>
#include <map>

#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/compose.h"
#include "runtime/base/counter_random.h"

namespace shoal {
namespace {

constexpr std::string_view kFreezeWord = "freeze";
constexpr std::uint64_t kFreezeMsLeast = 500;
constexpr std::uint64_t kFreezeMsMost = 5000;

// Every way to fail is as likely as every other one; freezes are among them only if they were asked for.
InjectKind drawn_way(std::uint32_t draw, bool with_freezes) {
  if (with_freezes) return static_cast<InjectKind>(draw % inject_kind_count());
  const std::uint32_t way = draw % (inject_kind_count() - 1);
  return static_cast<InjectKind>(way < static_cast<std::uint32_t>(InjectKind::kFreeze) ? way : way + 1);
}

}  // namespace

const std::vector<std::string>& chaos_kinds() {
  static const std::vector<std::string> kinds = {"stage",       "router",     "node_agent", "tracer",
                                                 "data_loader", "sync_group", "metrics",    "control",
                                                 "storage",     "supervisor", "node",       std::string(kFreezeWord)};
  return kinds;
}

Result<std::set<std::string>> parse_chaos_kinds(std::string_view text) {
  std::set<std::string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(", "), text.size());
    const std::string kind(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (kind.empty()) continue;
    if (std::find(chaos_kinds().begin(), chaos_kinds().end(), kind) == chaos_kinds().end()) {
      return fail(Error::kUsage, compose("there is no kind '", kind, "'", did_you_mean(kind, chaos_kinds())));
    }
    found.insert(kind);
  }
  if (found.empty() || found == std::set<std::string>{std::string(kFreezeWord)}) {
    return fail(Error::kUsage, "name at least one kind of actor, or node");
  }
  return found;
}

std::string kind_of(std::string_view name) {
  const std::string kind(name.substr(0, name.find('/')));
  const auto& kinds = chaos_kinds();
  return std::find(kinds.begin(), kinds.end(), kind) == kinds.end() ? "node" : kind;
}

std::optional<ChaosChoice> choose_failure(const ChaosSettings& settings, std::uint64_t number,
                                          const std::vector<std::string>& names) {
  std::map<std::string, std::set<std::string>> by_kind;
  for (const std::string& name : names) {
    if (settings.kinds.contains(kind_of(name))) by_kind[kind_of(name)].insert(name);
  }
  if (by_kind.empty()) return std::nullopt;
  const auto draws = philox4x32(philox_counter(number, stream_of("chaos")), philox_key(settings.seed));
  const auto& of_kind = std::next(by_kind.begin(), static_cast<std::ptrdiff_t>(draws[0] % by_kind.size()))->second;
  ChaosChoice choice{*std::next(of_kind.begin(), static_cast<std::ptrdiff_t>(draws[1] % of_kind.size())), {}};
  choice.how.how = drawn_way(draws[2], settings.kinds.contains(std::string(kFreezeWord)));
  if (choice.how.how == InjectKind::kFreeze) {
    choice.how.freeze_ms = kFreezeMsLeast + draws[3] % (kFreezeMsMost - kFreezeMsLeast + 1);
  }
  return choice;
}

}  // namespace shoal
