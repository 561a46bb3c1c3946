// The lines of searches.h, how a line is read, and which model it is about.
#include "tests/protocol/searches.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "tests/protocol/explore/walk.h"

namespace shoal::protocol {
namespace {

constexpr std::string_view kSumWord = "sum", kCommunicatorWord = "communicator", kJournalWord = "journal",
                           kRoundsWord = "rounds";

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

// A word that is followed by a number, and what the number sets.
bool set_limit(SearchSettings& settings, const std::string& word, long number) {
  if (word == "seconds") {
    settings.limits.seconds = static_cast<double>(number);
  } else if (word == "calm") {
    settings.limits.calm_states = static_cast<std::size_t>(number);
  } else if (word == "walks") {
    settings.walks = static_cast<std::uint64_t>(number);
  } else if (word == "seed") {
    settings.seed = static_cast<std::uint64_t>(number);
  } else {
    return false;
  }
  return true;
}

template <class Budget, std::size_t kCount>
bool set_budget(Budget& budget, const std::array<std::string_view, kCount>& names, const std::string& word,
                long number) {
  const auto fault = std::ranges::find(names, word);
  if (fault == names.end()) return false;
  budget[fault - names.begin()] = static_cast<Byte>(number);
  return true;
}

bool set_size(Scope& scope, const std::string& word, long number) {
  const int value = static_cast<int>(number);
  if (word == "microbatches" && value <= kMicrobatchesMax) {
    scope.microbatches = value;
  } else if (word == "steps" && value <= 2) {
    scope.steps = value;
  } else if ((word == "a" || word == "b" || word == "c") && value <= kReplicasPerStage) {
    scope.replicas[word[0] - 'a'] = value;
  } else if (word == "epochs") {
    scope.epochs = value;
  } else {
    return false;
  }
  return true;
}

bool set_number(StepSearch& search, const std::string& word, long number) {
  static constexpr std::array<std::string_view, kFaults> kNames = {"crash",  "suspect", "retry",      "loader",
                                                                   "group",  "spawner", "join",       "abort",
                                                                   "zombie", "early",   "quarantine", "leave"};
  return set_budget(search.scope.budget, kNames, word, number) || set_size(search.scope, word, number) ||
         set_limit(search.settings, word, number);
}

bool set_number(SumSearch& search, const std::string& word, long number) {
  static constexpr std::array<std::string_view, sum::kFaults> kNames = {"loss",  "break", "repeat",
                                                                        "crash", "join",  "abort"};
  if (word == "members" && number <= sum::kMembersMax) {
    search.scope.members = static_cast<int>(number);
    return true;
  }
  if (word == "buckets" && number <= sum::kBucketsMax) {
    search.scope.buckets = static_cast<int>(number);
    return true;
  }
  return set_budget(search.scope.budget, kNames, word, number) || set_limit(search.settings, word, number);
}

bool set_number(CommunicatorSearch& search, const std::string& word, long number) {
  static constexpr std::array<std::string_view, communicator::kFaults> kNames = {"crash", "join", "abort",
                                                                                 "group", "fail", "break"};
  const int value = static_cast<int>(number);
  if (word == "members" && value < communicator::kMembersMax) {
    search.scope.members = value;
  } else if (word == "sums" && value <= communicator::kSumsMax) {
    search.scope.sums = value;
  } else if (word == "orders" && value <= communicator::kOrdersMax) {
    search.scope.orders = value;
  } else {
    return set_budget(search.scope.budget, kNames, word, number) || set_limit(search.settings, word, number);
  }
  return true;
}

bool set_number(JournalSearch& search, const std::string& word, long number) {
  static constexpr std::array<std::string_view, journal::kFaults> kNames = {"crash", "spawner", "truncate", "snapshot",
                                                                            "leave"};
  const int value = static_cast<int>(number);
  if (word == "replicas" && value <= 2) {
    search.scope.replicas = value;
  } else if (word == "steps" && value <= 2) {
    search.scope.steps = value;
  } else if (word == "counters") {
    search.scope.counters = value;
  } else {
    return set_budget(search.scope.budget, kNames, word, number) || set_limit(search.settings, word, number);
  }
  return true;
}

bool set_number(RoundsSearch& search, const std::string& word, long number) {
  static constexpr std::array<std::string_view, rounds::kFaults> kNames = {"crash", "suspect", "spawner", "group",
                                                                           "join",  "abort",   "leave"};
  const int value = static_cast<int>(number);
  if (word == "stages" && value <= rounds::kStages) {
    search.scope.stages = value;
  } else if (word == "replicas" && value <= rounds::kPerStage) {
    search.scope.replicas = value;
  } else if (word == "steps" && value <= rounds::kRoundsMax) {
    search.scope.steps = value;
  } else if (word == "delay" && value <= 1) {
    search.scope.delay = value;
  } else if (word == "quorum" && value <= rounds::kPerStage) {
    search.scope.quorum = value;
  } else if (word == "counters") {
    search.scope.counters = value;
  } else {
    return set_budget(search.scope.budget, kNames, word, number) || set_limit(search.settings, word, number);
  }
  return true;
}

bool set_flag(StepSearch& search, const std::string& word) {
  if (word == "lazy") search.scope.is_lazy = true;
  if (word == "safety") search.settings.limits.checks_liveness = false;
  return word == "lazy" || word == "safety";
}

bool set_flag(SumSearch&, const std::string& word) { return word == kSumWord; }

bool set_flag(CommunicatorSearch& search, const std::string& word) {
  if (word == "safety") search.settings.limits.checks_liveness = false;
  return word == kCommunicatorWord || word == "safety";
}

bool set_flag(JournalSearch& search, const std::string& word) {
  if (word == "safety") search.settings.limits.checks_liveness = false;
  return word == kJournalWord || word == "safety";
}

bool set_flag(RoundsSearch& search, const std::string& word) {
  if (word == "safety") search.settings.limits.checks_liveness = false;
  return word == kRoundsWord || word == "safety";
}

template <class Search, class Rule>
std::optional<Search> parse(std::string_view line, const std::vector<Rule>& rules) {
  Search search;
  const std::vector<std::string> words = words_of(line);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (set_flag(search, word)) continue;
    if (i + 1 == words.size()) return std::nullopt;
    const std::string& value = words[++i];
    if (word == "without") {
      const auto rule = std::ranges::find(rules, value, &Rule::name);
      if (rule == rules.end()) return std::nullopt;
      search.rules.*(rule->flag) = false;
      continue;
    }
    char* end = nullptr;
    const long number = std::strtol(value.c_str(), &end, 10);
    if (*end != '\0' || number < 0 || !set_number(search, word, number)) return std::nullopt;
  }
  return search;
}

template <class M, class Search>
std::optional<Finding> explore(const std::optional<Search>& search, std::size_t calm_states) {
  if (!search) return std::nullopt;
  SearchLimits limits = search->settings.limits;
  if (calm_states > 0) limits.calm_states = calm_states;
  const M model(search->scope, search->rules);
  const SearchSettings& settings = search->settings;
  if (settings.walks > 0) return Finding{model.name(), Walks(model, limits, settings.seed).run(settings.walks)};
  return Finding{model.name(), BreadthFirst(model, limits).run()};
}

}  // namespace

std::optional<StepSearch> parse_step_search(std::string_view line) { return parse<StepSearch>(line, all_rules()); }

std::optional<SumSearch> parse_sum_search(std::string_view line) { return parse<SumSearch>(line, sum::all_rules()); }

std::optional<CommunicatorSearch> parse_communicator_search(std::string_view line) {
  return parse<CommunicatorSearch>(line, communicator::all_rules());
}

std::optional<JournalSearch> parse_journal_search(std::string_view line) {
  return parse<JournalSearch>(line, journal::all_rules());
}

std::optional<RoundsSearch> parse_rounds_search(std::string_view line) {
  return parse<RoundsSearch>(line, rounds::all_rules());
}

std::optional<Finding> run_search(std::string_view line, std::size_t calm_states) {
  if (line.starts_with(kRoundsWord)) return explore<rounds::RoundsModel>(parse_rounds_search(line), calm_states);
  if (line.starts_with(kJournalWord)) return explore<journal::JournalModel>(parse_journal_search(line), calm_states);
  if (line.starts_with(kCommunicatorWord)) {
    return explore<communicator::CommunicatorModel>(parse_communicator_search(line), calm_states);
  }
  if (line.starts_with(kSumWord)) return explore<sum::SumModel>(parse_sum_search(line), calm_states);
  return explore<StepModel>(parse_step_search(line), calm_states);
}

std::string search_usage() {
  return "usage: protocol_search [sum | communicator | journal | rounds] [WORD NUMBER]... [without RULE]... [lazy] "
         "[safety],\n"
         "       or --rules, or --long\n"
         "step:   microbatches 1|2, steps 1|2, a 1|2|3, b 1|2|3, c 0|1|2|3 (replicas of a stage), epochs N (of a "
         "group)\n"
         "faults: crash, suspect, retry, loader, group, zombie, spawner, join, abort, early, quarantine, leave\n"
         "sum:    members 2|3|4, buckets 1|2; faults: loss, break, repeat, crash, join, abort\n"
         "communicator: members 2|3, sums 1|2|3, orders N (of the group, while faults come); faults: crash, join, "
         "abort,\n"
         "        group, fail (of one call), break (of the library)\n"
         "journal: replicas 1|2 (of the first of two stages), steps 1|2, counters N (orders of a group);\n"
         "        faults: crash, spawner, truncate (its newest entry is gone), snapshot, leave\n"
         "rounds: stages 1|2, replicas 1|2|3 (of each stage), steps 1|2|3, delay 0|1 (steps to a round's place),\n"
         "        quorum 0|1|2|3, counters N (epochs of a group); faults: crash, suspect, spawner, group, join, "
         "abort,\n"
         "        leave\n"
         "limits: seconds N, calm N (states of a search for the end), safety (no such search)\n"
         "walks N, seed N: random walks instead of every state; lazy: nothing is done at once\n";
}

const std::vector<FullSearch>& short_searches() {
  static const std::vector<FullSearch> kSearches = {
      {"crash 1", 254546},
      {"steps 1 epochs 2 a 1 retry 1 loader 1", 31086},
      {"a 1 b 1 loader 1", 7867},
      {"a 1 b 1 epochs 2 spawner 1", 6020},
      {"steps 1 epochs 2 a 1 b 2 spawner 1", 10617},
      {"steps 1 epochs 2 a 1 b 1 loader 2 group 1", 139893},
      {"steps 1 epochs 2 retry 2", 44282},
      {"steps 1 early 1", 117049},
      {"group 1", 6601},
      {"abort 1", 2803},
      {"zombie 1", 24075},
      {"leave 1", 162500},
      {"a 1 b 1 join 1", 7644},
      {"a 1 b 3 steps 1 crash 2", 335954},
      {"microbatches 2 epochs 4", 3166},
      {"microbatches 2 epochs 4 group 1", 31725},
      {"microbatches 2 epochs 4 abort 1", 20256},
      {"microbatches 2 steps 1 a 1 b 2 crash 1", 10006},
      {"microbatches 2 steps 1 a 2 b 1 crash 1", 37048},
      {"microbatches 2 steps 1 a 1 b 2 suspect 1", 79230},
      {"microbatches 2 epochs 3 a 1 b 1 quarantine 1", 127877},
      {"a 1 b 2 c 1 steps 1 crash 1", 82474},
      {"a 1 b 1 c 1 group 1", 5058},
      {"a 1 b 2 c 1 steps 1 epochs 2 retry 1", 4565},
      {"sum loss 2 repeat 2", 27376},
      {"sum loss 2 repeat 1 crash 1", 49858},
      {"sum break 1 repeat 2", 7399},
      {"sum loss 2 repeat 1 abort 1", 29309},
      {"sum members 2 loss 1 join 1", 549},
      {"sum members 4 buckets 1 loss 2 repeat 2", 5076},
      {"communicator crash 1 join 1", 8963},
      {"communicator break 1", 304},
      {"communicator members 3 crash 1 fail 1", 17082},
      {"communicator members 3 crash 1 fail 1 break 1", 64253},
      {"communicator crash 1 fail 1 group 1 abort 1", 40486},
      {"communicator sums 3 orders 5 abort 1 group 2", 44778},
      {"journal steps 2 crash 1", 12575},
      {"journal crash 1 spawner 1", 50063},
      {"journal replicas 2 crash 1", 14541},
      {"journal spawner 1 truncate 1", 26518},
      {"journal steps 2 spawner 1 snapshot 1", 189216},
      {"journal steps 2 leave 1", 2876},
      {"rounds steps 3 delay 1 quorum 1 crash 1", 44179},
      {"rounds quorum 1 crash 1 spawner 1", 18117},
      {"rounds stages 2 spawner 1", 159024},
      {"rounds replicas 3 quorum 1 crash 1", 120940},
      {"rounds crash 1 abort 1", 1289},
      {"rounds join 1", 1695},
      {"rounds quorum 1 leave 1", 4899},
  };
  return kSearches;
}

const std::vector<FullSearch>& long_searches() {
  static const std::vector<FullSearch> kSearches = {
      {"crash 2", 1876504},
      {"retry 1", 662566},
      {"steps 1 epochs 2 loader 1", 216059},
      {"steps 1 epochs 2 spawner 1", 460365},
      {"steps 1 a 1 b 2 crash 1 loader 1", 416301},
      {"join 1", 48413},
      {"epochs 2 group 1 join 1", 446833},
      {"crash 1 group 1", 3661801},
      {"crash 1 abort 1", 935396},
      {"steps 1 crash 1 early 1", 3967936},
      {"steps 1 epochs 2 suspect 1", 169152},
      {"steps 1 epochs 2 crash 1 retry 1", 581970},
      {"microbatches 2 steps 1 epochs 2 crash 1", 1373345},
      {"steps 1 epochs 2 crash 1 early 1", 175943},
      {"steps 1 retry 1 abort 1", 1272394},
      {"a 3 b 1 steps 1 epochs 2 crash 2", 435569},
      {"microbatches 2 epochs 4 zombie 1", 116042},
      {"microbatches 2 steps 1 epochs 4 a 1 b 1 quarantine 1", 414234},
      {"microbatches 2 steps 1 epochs 3 a 1 b 1 group 1 quarantine 1", 1180777},
      {"a 2 b 1 c 1 steps 1 crash 1", 162562},
      {"sum loss 1 repeat 1 crash 1 join 1", 3024091},
      {"sum loss 1 crash 2 join 1", 1441638},
      {"sum loss 1 break 1 repeat 2 crash 1", 621090},
      {"communicator members 3 sums 3 orders 5 crash 2 join 1", 1014936},
      {"journal steps 2 crash 2", 521858},
      {"crash 1 leave 1", 2027281},
      {"journal steps 2 crash 1 leave 1", 303391},
      {"journal steps 2 spawner 1 leave 1", 56604},
      {"rounds quorum 1 crash 1 join 1", 256777},
      {"rounds steps 3 delay 1 quorum 1 suspect 1 abort 1", 270402},
      {"rounds stages 2 crash 1 spawner 1", 3418496},
      {"rounds stages 2 quorum 1 crash 1", 4922981},
      {"rounds replicas 3 quorum 2 crash 1 leave 1", 189613},
      {"rounds quorum 1 suspect 1 group 1 abort 1", 220966},
  };
  return kSearches;
}

namespace {

constexpr auto kShortRemovals = std::to_array<Removal>({
    {"freeze", "steps 1 retry 1 safety", "S-1"},
    {"version_check", "", "S-1"},
    {"reply_ledger", "", "S-1"},
    {"epoch_order", "", "L-1"},
    {"vote_inst", "group 1", "L-1"},
    {"vote_view", "crash 1", "S-4"},
    {"log_order_replica", "crash 1", "L-1"},
    {"log_order_group", "crash 1", "L-1"},
    {"missing", "crash 1", "L-1"},
    {"frozen_next", "steps 1 crash 1", "L-1"},
    {"keep_answers", "steps 1 crash 1", "L-1"},
    {"keep_inputs", "crash 1", "L-1"},
    {"group_from_log", "group 1", "L-1"},
    {"inst_durable", "a 1 b 1 spawner 1", "L-1"},
    {"vote_after_reduced", "", "L-1"},
    {"journal_first", "a 1 b 1 spawner 1", "L-1"},
    {"zero_clears_ledger", "retry 1", "L-1"},
    {"no_abort_after_vote", "abort 1", "L-1"},
    {"open_on_void", "steps 1 early 1 crash 1", "L-1"},
    {"open_on_gap", "crash 1", "L-1"},
    {"add_voids", "join 1", "L-1"},
    {"manifest_check", "retry 1", "S-1"},
    {"zero_on_twice", "retry 1", "S-1"},
    {"joiner_mute", "a 1 b 1 join 1 crash 1", "L-1"},
    {"survey_opens", "steps 1 epochs 2 a 1 b 2 loader 1", "L-1"},
    {"survey_is_order", "steps 1 epochs 2 a 1 b 2 spawner 1", "L-1"},
    {"loader_goes_on", "a 1 b 1 loader 1", "L-1"},
    {"quarantine_voids", "microbatches 2 steps 1 epochs 4 a 1 b 1 quarantine 1", "S-1"},
    {"quarantine_unknown", "microbatches 2 steps 1 epochs 4 a 1 b 1 quarantine 1", "S-1"},
    {"order_match", "sum crash 1", "P-15"},
    {"again_asks", "sum loss 1 repeat 1", "L-1"},
    {"lacks_is_asked", "sum loss 1", "L-1"},
    {"whole_for_partial", "sum loss 1 repeat 2 without mark_behind", "L-1"},
    {"held_by_all", "communicator join 1", "S-1"},
    {"of_no_others", "communicator members 3 crash 1", "L-1"},
    {"gives_up", "communicator group 2 safety", "P-15"},
    {"says_so", "communicator fail 1", "L-1"},
    {"ring_after", "communicator break 1", "L-1"},
    {"one_makes", "communicator", "L-1"},
    {"id_again", "communicator", "L-1"},
    {"id_of_order", "communicator abort 1", "P-15"},
    {"vote_fence", "journal crash 1", "S-4"},
    {"new_branch", "journal crash 1", "L-1"},
    {"compares_terms", "journal spawner 1 truncate 1 without ahead_ends", "L-1"},
    {"left_behind_ends", "journal steps 2 spawner 1 snapshot 1", "L-1"},
    {"leaves_at_commit", "leave 1", "P-28a"},
    {"leaves_saved", "journal steps 2 leave 1", "P-28a"},
    {"last_zero", "retry 1", "P-16b"},
    {"last_emptied", "steps 1 epochs 5 retry 1 abort 1", "P-16b"},
    {"round_place", "rounds steps 3 delay 1", "P-32"},
    {"round_once", "rounds", "S-2"},
    {"round_position", "rounds crash 1", "S-4"},
    {"round_vote_inst", "rounds group 1", "P-24"},
    {"round_part_epoch", "rounds abort 1", "P-15"},
    {"round_vote_reduced", "rounds", "P-24"},
    {"contribution_stays", "rounds abort 1", "L-1"},
    {"boundary_first", "rounds", "S-3"},
    {"joined_contributes", "rounds steps 3 delay 1 join 1", "L-1"},
    {"joined_weighs_nothing", "rounds steps 3 delay 1 join 1", "P-33"},
    {"quorum_of_tokens", "rounds steps 3 delay 1 quorum 1 join 1", "P-31a"},
    {"missed_waits", "rounds quorum 1", "S-3"},
    {"missed_asks_next", "rounds replicas 3 quorum 2 crash 1", "L-1"},
    {"missed_ends", "rounds quorum 1 crash 1", "L-1"},
    {"missed_tokens_lost", "rounds quorum 1", "P-33"},
    {"mean_is_kept", "rounds quorum 1", "L-1"},
    {"rounds_from_journal", "rounds spawner 1", "L-1"},
    {"last_closes", "rounds delay 1", "L-1"},
    {"copy_at_version", "rounds join 1", "S-3"},
    {"leaver_first", "rounds quorum 1 leave 1", "P-28a"},
});

}  // namespace

const std::vector<Removal>& short_removals() {
  static const std::vector<Removal> kRemovals(kShortRemovals.begin(), kShortRemovals.end());
  return kRemovals;
}

const std::vector<Removal>& long_removals() {
  static const std::vector<Removal> kRemovals = {
      {"part_epoch", "steps 1 crash 1 safety", "S-1"},
      {"admit_version", "join 1", "L-1"},
      {"missing_when_open", "steps 1 crash 1", ""},
      {"zero_forgets", "steps 1 retry 1", ""},
      {"asks_holders", "steps 1 a 1 b 2 loader 1", ""},
      {"send_on_removal", "steps 1 crash 1", ""},
      {"commit_epoch", "crash 1", ""},
      {"fence", "steps 1 epochs 2 suspect 1 seconds 120", ""},
      {"donor_in_view", "a 1 b 2 join 1 suspect 1 seconds 60", ""},
      {"lets_wait", "a 2 b 1 c 1 steps 1 crash 1", ""},
      {"quarantine_withdraws", "microbatches 2 steps 1 epochs 4 a 1 b 1 quarantine 1", ""},
      {"part_once", "sum loss 2 repeat 2", ""},
      {"mark_behind", "sum loss 1 repeat 2", ""},
      {"mark_checked", "sum loss 1 repeat 2", ""},
      {"whole_for_partial", "sum loss 2 repeat 2", ""},
      {"order_branch", "journal crash 1", ""},
      {"ahead_ends", "journal steps 2 spawner 1 truncate 1", ""},
      {"compares_terms", "journal steps 2 spawner 1 truncate 1", ""},
      {"lineage", "journal crash 3 spawner 1 seconds 60", ""},
      {"leaver_gate", "journal steps 2 leave 1", ""},
      {"gate_rounds", "rounds steps 3 delay 1 quorum 1 crash 1", ""},
  };
  return kRemovals;
}

std::string line_of(const Removal& removal) {
  return std::string(removal.search) + " without " + std::string(removal.rule);
}

}  // namespace shoal::protocol
