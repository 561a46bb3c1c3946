// Compares two configurations key by key, and a step with the ends of rounds.
#include "launch/branches/branch_plan.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "launch/branches/branch_keys.h"
#include "runtime/base/compose.h"
#include "runtime/journal/round_plan.h"
#include "runtime/transport/identity.h"

namespace shoal {
namespace {

// These say when rounds are and what each carries; the other keys of [sync] say how one is added up.
constexpr std::array<std::string_view, 4> kSchedule = {"sync.H", "sync.fragments", "sync.pattern", "sync.overlap"};

void add_name(std::string& names, const std::string& name) { names += (names.empty() ? "" : ", ") + name; }

struct Refused {
  std::string never;      // sentences
  std::string on_branch;  // names
};

Refused refused_of(const Config& was, const Config& now) {
  Refused refused;
  for (const ConfigKey* key : keys_that_differ(was, now)) {
    const KeyRule rule = rule_of(*key);
    if (rule.freedom == KeyFreedom::kNever) {
      refused.never += compose(refused.never.empty() ? "" : "; ", key->path(), " (", rule.why, ")");
    }
    if (rule.freedom == KeyFreedom::kOnABranch) add_name(refused.on_branch, key->path());
  }
  return refused;
}

// The step of the last end of a round at or before `from`, and the first one after it.
std::string ends_around(std::uint64_t from, std::uint64_t period) {
  return compose("ends are after ", from / period * period, " and ", (from / period + 1) * period, " steps");
}

}  // namespace

Result<std::optional<BranchWish>> branch_wish(const std::optional<std::string>& name,
                                              const std::optional<std::uint64_t>& from) {
  if (!name && !from) return std::optional<BranchWish>();
  if (!name) return fail(Error::kUsage, "--from says where a branch begins; give it a name, too, by --branch NAME");
  if (is_valid_name(*name)) return std::optional(BranchWish{*name, from});
  return fail(Error::kUsage,
              compose("--branch ", *name,
                      ": expected 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"));
}

void stretch_schedule(const Config& was, Config& now, const std::vector<std::string>& sets) {
  const auto names_it = [](const std::string& set) { return set.starts_with("optim.decay_steps"); };
  const bool has_followed = was.optim.decay_steps == was.run.steps && now.optim.decay_steps == was.optim.decay_steps;
  if (has_followed && std::ranges::none_of(sets, names_it)) now.optim.decay_steps = now.run.steps;
}

Status check_changes(const Config& was, const Config& now, bool is_branch, const std::string& file) {
  const Refused refused = refused_of(was, now);
  std::string text;
  if (!refused.never.empty()) {
    text = compose("a resumed run must keep as ", file, " has it: ", refused.never, "; start a new run to change that");
  }
  if (!is_branch && !refused.on_branch.empty()) {
    text += compose(text.empty() ? "" : ". ", refused.on_branch,
                    " may change on a branch of the run: add --branch NAME, with a name of your choice (and --from N "
                    "for an older checkpoint than the newest)");
  }
  return text.empty() ? Status(Done{}) : fail(Error::kUsage, text);
}

Status check_round_end(const BranchPlan& plan, const Config& now, std::uint64_t from) {
  if (plan.was.sync.mode != SyncMode::kDiloco || from == 0) return Done{};
  std::string rounds;    // changed keys of [sync]
  std::string schedule;  // of them
  for (const KeyChange& change : plan.changes) {
    const ConfigKey* key = find_config_key(change.key);
    if (key == nullptr || key->section != "sync" || rule_of(*key).freedom != KeyFreedom::kOnABranch) continue;
    add_name(rounds, change.key);
    const bool is_schedule = std::ranges::any_of(kSchedule, [&](std::string_view name) { return name == change.key; });
    if (is_schedule) add_name(schedule, change.key);
  }
  const std::uint64_t was_H = plan.was.sync.H;
  if (!rounds.empty() && from % was_H != 0) {
    return fail(Error::kUsage, compose(rounds, " may change at a round's end only, and the state after ", from,
                                       " steps is in the middle of one: ", ends_around(from, was_H), " (--from N)"));
  }
  if (schedule.empty()) return Done{};
  if (from % now.sync.H != 0) {
    return fail(Error::kUsage, compose(schedule, " may change where a round of the new length ends, too, and ", from,
                                       " steps are no multiple of sync.H = ", now.sync.H));
  }
  const bool is_under_way = !RoundSchedule(plan.was.sync).in_flight_after(from).empty() ||
                            !RoundSchedule(now.sync).in_flight_after(from).empty();
  if (!is_under_way) return Done{};
  return fail(Error::kUsage,
              compose(schedule, " may change only where no round is under way, and with sync.overlap, or ",
                      "a delayed or eager sync.outer_update, one is after ", from, " steps"));
}

Branch number_after(const std::vector<Branch>& known) {
  Branch highest;
  for (const Branch branch : known) highest = std::max(highest, branch);
  return Branch{highest.value + 1};
}

}  // namespace shoal
