// Runs one search of the model, whose size, faults and missing rules its
// arguments name, or all long ones, and prints what was found.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/protocol/explore/search.h"
#include "tests/protocol/explore/walk.h"
#include "tests/protocol/searches.h"
#include "tests/protocol/step/step_model.h"

namespace shoal::protocol {
namespace {

void list_rules() {
  for (const Rule &rule : all_rules()) {
    std::printf("%-20s %-12s without it %s\n", std::string(rule.name).c_str(),
                std::string(rule.law).c_str(),
                std::string(rule.without).c_str());
  }
}

Outcome explore(const Search &search) {
  const StepModel model(search.scope, search.rules);
  if (search.walks > 0)
    return Walks(model, search.limits, search.seed).run(search.walks);
  return BreadthFirst(model, search.limits).run();
}

void print_line(const std::string &verdict, const Search &search,
                const Outcome &outcome) {
  std::printf(
      "%s: %s: %llu states, %llu transitions, depth %d, %llu liveness "
      "searches, %llu ends, %.0f s\n",
      verdict.c_str(), StepModel(search.scope, search.rules).name().c_str(),
      static_cast<unsigned long long>(outcome.states),
      static_cast<unsigned long long>(outcome.transitions), outcome.depth,
      static_cast<unsigned long long>(outcome.liveness_searches),
      static_cast<unsigned long long>(outcome.ends), outcome.seconds);
  std::fflush(stdout);
}

// Every long search of the table; false: one of them has another result than
// the table says.
bool run_all() {
  bool is_as_said = true;
  for (const FullSearch &full : long_searches()) {
    const Search search = parse_search(full.search).value();
    const Outcome outcome = explore(search);
    const bool is_ok = outcome.is_complete && outcome.states == full.states;
    print_line(is_ok ? "ok" : outcome.broken.value_or("NOT AS THE TABLE SAYS"),
               search, outcome);
    is_as_said &= is_ok;
  }
  for (const Removal &removal : long_removals()) {
    const Search search = search_without(removal);
    const Outcome outcome = explore(search);
    const std::string found = outcome.broken.value_or("");
    const bool is_ok = removal.finds.empty() ? found.empty()
                                             : found.starts_with(removal.finds);
    print_line(is_ok ? "as expected " + (found.empty() ? "nothing" : found)
                     : "NOT AS THE TABLE SAYS",
               search, outcome);
    is_as_said &= is_ok;
  }
  return is_as_said;
}

int run(const std::vector<std::string> &arguments) {
  if (arguments == std::vector<std::string>{"--rules"}) {
    list_rules();
    return 0;
  }
  if (arguments == std::vector<std::string>{"--long"})
    return run_all() ? 0 : 1;
  const auto search = parse_search(arguments);
  if (!search) {
    std::fprintf(stderr, "%s", search_usage().c_str());
    return 2;
  }
  const Outcome outcome = explore(*search);
  if (outcome.broken)
    std::printf("%s\n%s", outcome.broken->c_str(), outcome.story.c_str());
  print_line(outcome.broken        ? "BROKEN"
             : outcome.is_complete ? "ok"
                                   : "ok so far",
             *search, outcome);
  return outcome.broken ? 1 : 0;
}

} // namespace
} // namespace shoal::protocol

int main(int argc, char **argv) {
  return shoal::protocol::run({argv + 1, argv + argc});
}
