// Names are few: a search from the front, and edit distance for what is not there.
#include "runtime/cluster/operate/targets.h"

#include <algorithm>

#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/compose.h"

namespace shoal {

std::string list_names(const std::vector<Target>& all) {
  std::string list;
  for (const Target& target : all) list += (list.empty() ? "" : " ") + target.name;
  return list.empty() ? "none" : list;
}

std::string absence_text(std::string_view name, const std::vector<Target>& all) {
  return compose(
      name, " is not there now: it was lost or told to end, and may be starting again; there are: ", list_names(all));
}

Result<Target> resolve_target(std::string_view name, const std::vector<Target>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [name](const Target& target) { return target.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Target& target : all) names.push_back(target.name);
  return fail(Error::kUsage, compose("nothing here is named '", name, "'", did_you_mean(name, names),
                                     "; there are: ", list_names(all)));
}

}  // namespace shoal
