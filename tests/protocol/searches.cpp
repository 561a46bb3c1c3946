// The lines of searches.h, and how a line is read.
#include "tests/protocol/searches.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

namespace shoal::protocol {
namespace {

// A word that is followed by a number, and what the number sets.
bool set_number(Search &search, const std::string &word, long number) {
  static constexpr std::array<std::string_view, kFaults> kFaultWords = {
      "crash",   "suspect", "retry", "loader", "group",
      "spawner", "join",    "abort", "zombie", "early"};
  Scope &scope = search.scope;
  const auto fault = std::ranges::find(kFaultWords, word);
  if (fault != kFaultWords.end()) {
    scope.budget[fault - kFaultWords.begin()] = byte(static_cast<int>(number));
  } else if (word == "microbatches" && number <= kMicrobatchesMax) {
    scope.microbatches = static_cast<int>(number);
  } else if (word == "steps" && number <= 2) {
    scope.steps = static_cast<int>(number);
  } else if ((word == "a" || word == "b") && number <= kReplicasPerStage) {
    scope.replicas[word == "b" ? 1 : 0] = static_cast<int>(number);
  } else if (word == "epochs") {
    scope.epochs = static_cast<int>(number);
  } else if (word == "seconds") {
    search.limits.seconds = static_cast<double>(number);
  } else if (word == "calm") {
    search.limits.calm_states = static_cast<std::size_t>(number);
  } else if (word == "walks") {
    search.walks = static_cast<std::uint64_t>(number);
  } else if (word == "seed") {
    search.seed = static_cast<std::uint64_t>(number);
  } else {
    return false;
  }
  return true;
}

} // namespace

std::optional<Search> parse_search(const std::vector<std::string> &words) {
  Search search;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (word == "lazy") {
      search.scope.is_lazy = true;
      continue;
    }
    if (word == "safety") {
      search.limits.checks_liveness = false;
      continue;
    }
    if (i + 1 == words.size())
      return std::nullopt;
    const std::string &value = words[++i];
    if (word == "without") {
      const auto rule = std::ranges::find(all_rules(), value, &Rule::name);
      if (rule == all_rules().end())
        return std::nullopt;
      search.rules.*(rule->flag) = false;
      continue;
    }
    char *end = nullptr;
    const long number = std::strtol(value.c_str(), &end, 10);
    if (*end != '\0' || number < 0 || !set_number(search, word, number))
      return std::nullopt;
  }
  return search;
}

std::optional<Search> parse_search(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::vector<std::string> all;
  for (std::string word; words >> word;)
    all.push_back(word);
  return parse_search(all);
}

std::string search_usage() {
  return "usage: protocol_search [WORD NUMBER]... [without RULE]... [lazy] "
         "[safety], or --rules, or --long\n"
         "size:   microbatches 1|2, steps 1|2, a 1|2|3, b 1|2|3 (replicas of a "
         "stage), epochs N (of a group)\n"
         "faults: crash, suspect, retry, loader, group, zombie, spawner, join, "
         "abort, early\n"
         "limits: seconds N, calm N (states of a search for the end), safety "
         "(no such search)\n"
         "walks N, seed N: random walks instead of every state; lazy: nothing "
         "is done at once\n";
}

const std::vector<FullSearch> &short_searches() {
  static const std::vector<FullSearch> kSearches = {
      {"crash 1", 193087},
      {"steps 1 epochs 2 retry 1 loader 1", 78374},
      {"steps 1 epochs 2 spawner 1", 76497},
      {"steps 1 epochs 2 retry 2", 44282},
      {"steps 1 early 1", 57274},
      {"group 1", 6601},
      {"abort 1", 2803},
      {"zombie 1", 24075},
      {"a 1 b 1 join 1", 7644},
      {"a 1 b 3 steps 1 crash 2", 323126},
      {"microbatches 2 epochs 4", 3166},
      {"microbatches 2 epochs 4 group 1", 31725},
      {"microbatches 2 epochs 4 abort 1", 20256},
      {"microbatches 2 steps 1 a 1 b 2 crash 1", 9786},
      {"microbatches 2 steps 1 a 2 b 1 crash 1", 36388},
      {"microbatches 2 steps 1 a 1 b 2 suspect 1", 72122},
  };
  return kSearches;
}

const std::vector<FullSearch> &long_searches() {
  static const std::vector<FullSearch> kSearches = {
      {"crash 2", 1679720},
      {"retry 1", 377737},
      {"loader 1", 499451},
      {"spawner 1", 552794},
      {"steps 1 epochs 2 crash 1 early 1", 175943},
      {"steps 1 retry 1 abort 1", 817162},
      {"a 3 b 1 steps 1 epochs 2 crash 2", 435569},
      {"microbatches 2 epochs 4 zombie 1", 116042},
  };
  return kSearches;
}

const std::vector<Removal> &short_removals() {
  static const std::vector<Removal> kRemovals = {
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
      {"inst_durable", "spawner 1", "L-1"},
      {"vote_after_reduced", "", "L-1"},
      {"journal_first", "spawner 1", "L-1"},
      {"zero_clears_ledger", "retry 1", "L-1"},
      {"no_abort_after_vote", "abort 1", "L-1"},
      {"open_on_void", "steps 1 early 1 crash 1", "L-1"},
      {"open_on_gap", "crash 1", "L-1"},
      {"add_voids", "join 1", "L-1"},
      {"manifest_check", "retry 1", "S-1"},
      {"zero_on_twice", "retry 1", "S-1"},
      {"joiner_mute", "a 1 b 1 join 1 crash 1", "L-1"},
  };
  return kRemovals;
}

const std::vector<Removal> &long_removals() {
  static const std::vector<Removal> kRemovals = {
      {"part_epoch", "steps 1 crash 1 safety", "S-1"},
      {"admit_version", "join 1", "L-1"},
      {"missing_when_open", "steps 1 crash 1", ""},
      {"zero_forgets", "steps 1 retry 1", ""},
      {"send_on_removal", "steps 1 crash 1", ""},
      {"commit_epoch", "crash 1", ""},
      {"fence", "steps 1 epochs 2 suspect 1 seconds 120", ""},
      {"donor_in_view", "a 1 b 2 join 1 suspect 1 seconds 60", ""},
  };
  return kRemovals;
}

Search search_without(const Removal &removal) {
  Search search = parse_search(removal.search).value();
  search.rules = rules_without(removal.rule);
  return search;
}

} // namespace shoal::protocol
