// Compares two configurations key by key, and a step with the ends of rounds.
#include "launch/branches/branch_plan.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "launch/branches/branch_keys.h"
#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"
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
    const KeyRule rule = rule_between(*key, was, now);
    if (rule.freedom == KeyFreedom::kNever) {
      refused.never += compose(refused.never.empty() ? "" : "; ", key->path(), " (", rule.why, ")");
    }
    if (rule.freedom == KeyFreedom::kOnABranch) add_name(refused.on_branch, key->path());
  }
  return refused;
}

struct RoundChanges {
  std::vector<KeyChange> all;       // every changed key of [sync] that asks for a branch
  std::vector<KeyChange> schedule;  // those among them that kSchedule names
};

RoundChanges round_changes(const Config& was, const Config& now) {
  RoundChanges found;
  for (const KeyChange& change : changes_between(was, now)) {
    const ConfigKey* key = find_config_key(change.key);
    if (key == nullptr || key->section != "sync" || rule_of(*key).freedom != KeyFreedom::kOnABranch) continue;
    found.all.push_back(change);
    if (std::ranges::find(kSchedule, change.key) != kSchedule.end()) found.schedule.push_back(change);
  }
  return found;
}

// "--set sync.H=5 --set ...", with the values before.
std::string sets_of(const std::vector<KeyChange>& changes) {
  std::string text;
  for (const KeyChange& change : changes) {
    text += compose(text.empty() ? "" : " ", "--set ", change.key, "=", change.was);
  }
  return text;
}

// A key or value that this version does not know stays as it is.
void take_back(const KeyChange& change, Config& config) {
  const ConfigKey* key = find_config_key(change.key);
  if (key == nullptr || !key->set) return;
  if (const auto value = parse_value(*key, change.was)) key->set(config, *value);
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
  const auto names_it = [](const std::string& set) { return key_of_set(set) == "optim.decay_steps"; };
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

Config config_of(Branch branch, const Config& newest, const std::vector<BranchRecord>& told) {
  Config config = newest;
  for (const BranchRecord& above : told) {
    if (above.branch <= branch) break;
    for (const KeyChange& change : above.changes) take_back(change, config);
  }
  return config;
}

std::uint64_t rounds_from(const Config& newest, const std::vector<BranchRecord>& told) {
  Config config = newest;
  std::optional<std::uint64_t> from;  // steps applied in the newest state that a branch with this configuration made
  for (const BranchRecord& record : told) {
    const bool is_on_the_way = !from || record.step <= *from;  // others were left
    if (is_on_the_way && !round_changes(config, newest).schedule.empty()) break;
    if (is_on_the_way) from = record.step;
    for (const KeyChange& change : record.changes) take_back(change, config);
  }
  return round_changes(config, newest).schedule.empty() ? 0 : from.value_or(0);
}

Status check_round_end(const Config& was, const Config& now, std::uint64_t from) {
  if (was.sync.mode != SyncMode::kDiloco || from == 0) return Done{};
  const RoundChanges changes = round_changes(was, now);
  const std::string keep = compose("; what the state was made with stays by ", sets_of(changes.all));
  const std::uint64_t was_H = was.sync.H;
  if (!changes.all.empty() && from % was_H != 0) {
    return fail(Error::kUsage,
                compose(text_of(changes.all), ": may change at a round's end only, and the state after ", from,
                        " steps is in the middle of one: ", ends_around(from, was_H), " (--from N)", keep));
  }
  if (changes.schedule.empty()) return Done{};
  if (from % now.sync.H != 0) {
    return fail(Error::kUsage,
                compose(text_of(changes.schedule), ": may change where a round of the new length ends, too, and ", from,
                        " steps are no multiple of sync.H = ", now.sync.H, keep));
  }
  const bool is_under_way =
      !RoundSchedule(was.sync).in_flight_after(from).empty() || !RoundSchedule(now.sync).in_flight_after(from).empty();
  if (!is_under_way && was.sync.fragments > 1) {
    return fail(Error::kUsage,
                compose(text_of(changes.schedule), ": may change only where all fragments end their ",
                        "rounds at once, and those of sync.fragments = ", was.sync.fragments, " take turns", keep));
  }
  if (!is_under_way) return Done{};
  return fail(Error::kUsage,
              compose(text_of(changes.schedule), ": may change only where no round is under way, and with ",
                      "sync.overlap, or a delayed or eager sync.outer_update, one is after ", from, " steps", keep));
}

Result<BranchTurn> turn_of(const BranchPlan& plan, const BegunBranch& begun) {
  const BranchRecord& record = begun.record;
  const bool is_other = plan.wish.name != record.name;
  if (is_other && !begun.is_half_made) return BranchTurn::kBegin;
  // Another change that would take a key's freedom, as one of sync.reduction does, counts by itself.
  const bool sets_otherwise = std::ranges::any_of(plan.changes, [&plan](const KeyChange& change) {
    const ConfigKey* key = find_config_key(change.key);
    return key != nullptr && rule_between(*key, plan.was, plan.was).freedom != KeyFreedom::kFree;
  });
  const bool is_elsewhere = plan.wish.from.value_or(record.step) != record.step;
  if (!is_other && !sets_otherwise && !is_elsewhere) return BranchTurn::kGoOn;
  const char* const state = begun.is_half_made ? " stands half-made, as a command was ended while it made it"
                                               : " has begun, and has no steps yet";
  return fail(Error::kUsage, compose("--branch ", plan.wish.name, ": branch ", record.name, state, " (from step ",
                                     record.step, ": ", text_of(record.changes),
                                     "); go on with it by --resume without --branch, which finishes it, or by the "
                                     "command that began it; another branch may begin then, by another name"));
}

Branch number_after(const std::vector<Branch>& known) {
  Branch highest;
  for (const Branch branch : known) highest = std::max(highest, branch);
  return Branch{highest.value + 1};
}

}  // namespace shoal
