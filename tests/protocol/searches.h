// The searches that are made of the models, as lines of words: what continuous integration runs, what is run by hand.
//
// One line is one search: `steps 2 crash 1` with every rule, `steps 2 crash 1 without vote_view` without one, `sum loss
// 2` of the inside of a sum, `communicator crash 1` of sums by a library, `journal crash 1` of the life of the journal,
// `rounds quorum 1` of rounds. What a search of a missing rule must find is said with it: a search that finds nothing
// would prove nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/protocol/communicator/communicator_model.h"
#include "tests/protocol/explore/search.h"
#include "tests/protocol/journal/journal_model.h"
#include "tests/protocol/rounds/rounds_model.h"
#include "tests/protocol/step/step_model.h"
#include "tests/protocol/sum/sum_model.h"

namespace shoal::protocol {

struct SearchSettings {
  SearchLimits limits;
  std::uint64_t walks = 0;  // 0: every state, breadth first
  std::uint64_t seed = 1;
};
struct StepSearch {
  Scope scope;
  Rules rules;
  SearchSettings settings;
};
struct SumSearch {
  sum::Scope scope;
  sum::Rules rules;
  SearchSettings settings;
};
struct CommunicatorSearch {
  communicator::Scope scope;
  communicator::Rules rules;
  SearchSettings settings;
};
struct JournalSearch {
  journal::Scope scope;
  journal::Rules rules;
  SearchSettings settings;
};

struct RoundsSearch {
  rounds::Scope scope;
  rounds::Rules rules;
  SearchSettings settings;
};

// Words and numbers in turn; none if they are no search.
[[nodiscard]] std::optional<StepSearch> parse_step_search(std::string_view line);
[[nodiscard]] std::optional<SumSearch> parse_sum_search(std::string_view line);
[[nodiscard]] std::optional<CommunicatorSearch> parse_communicator_search(std::string_view line);
[[nodiscard]] std::optional<JournalSearch> parse_journal_search(std::string_view line);
[[nodiscard]] std::optional<RoundsSearch> parse_rounds_search(std::string_view line);
[[nodiscard]] std::string search_usage();

struct Finding {
  std::string model;  // its size, its faults, what it lacks
  Outcome outcome;
};
// Makes the search of a line; calm_states replaces what the line says about it, unless it is 0.
[[nodiscard]] std::optional<Finding> run_search(std::string_view line, std::size_t calm_states = 0);

// Every rule holds: nothing is found, and every state was visited. A change of the model changes the number of states;
// it is written down to be seen.
struct FullSearch {
  std::string_view search;
  std::uint64_t states;
};
// short: seconds, run by continuous integration; long: minutes, run by hand.
[[nodiscard]] const std::vector<FullSearch>& short_searches();
[[nodiscard]] const std::vector<FullSearch>& long_searches();

// One rule is removed.
struct Removal {
  std::string_view rule;
  std::string_view search;  // with all other rules
  std::string_view finds;   // how the broken property begins; empty: nothing, the rule is implied by the others
};
[[nodiscard]] const std::vector<Removal>& short_removals();
[[nodiscard]] const std::vector<Removal>& long_removals();
[[nodiscard]] std::string line_of(const Removal& removal);

}  // namespace shoal::protocol
