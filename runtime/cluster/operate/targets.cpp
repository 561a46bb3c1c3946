// Names are few: a search from the front, and edit distance for what is not there.
#include "runtime/cluster/operate/targets.h"

#include <algorithm>

#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/compose.h"

namespace shoal {
namespace {

// These actors live as long as their process does.
bool ends_its_process(const Target& target) {
  const Role role = target.address.role;
  return target.whole_process || role == Role::kRouter || role == Role::kNodeAgent || role == Role::kSupervisor;
}

template <class Number>
bool is_recent(const std::map<Number, Instant>& told, Number number, Instant now) {
  const auto found = told.find(number);
  return found != told.end() && now - found->second < ToldToEnd::kEndsWithin;
}

}  // namespace

std::string list_names(const std::vector<Target>& all) {
  std::string list;
  for (const Target& target : all) list += (list.empty() ? "" : " ") + target.name;
  return list.empty() ? "none" : list;
}

std::string absence_text(std::string_view name, const std::vector<Target>& all) {
  return compose(
      name, " is not there now: it was lost or told to end, and may be starting again; there are: ", list_names(all));
}

std::string departed_text(std::string_view name, std::string_view went, const std::vector<Target>& all) {
  return compose(name, " is not there: it ", went,
                 ", and nobody starts it again by itself; there are: ", list_names(all));
}

std::string ending_text(std::string_view name) {
  return compose(name, " is not there now: it was told to end a moment ago, and is being started again");
}

Result<Target> resolve_target(std::string_view name, const std::vector<Target>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [name](const Target& target) { return target.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Target& target : all) names.push_back(target.name);
  return fail(Error::kUsage, compose("nothing here is named '", name, "'", did_you_mean(name, names),
                                     "; there are: ", list_names(all)));
}

void ToldToEnd::add(const Target& target, Instant now) {
  const auto is_over = [now](const auto& told) { return now - told.second >= kEndsWithin; };
  std::erase_if(processes_, is_over);
  std::erase_if(replicas_, is_over);
  if (ends_its_process(target)) processes_.insert_or_assign(target.address.process, now);
  if (target.address.role == Role::kStage) replicas_.insert_or_assign(target.address.incarnation, now);
}

bool ToldToEnd::contains(const Target& target, Instant now) const {
  const bool is_replica = target.address.role == Role::kStage;
  return is_recent(processes_, target.address.process, now) ||
         (is_replica && is_recent(replicas_, target.address.incarnation, now));
}

}  // namespace shoal
