// Makes one search of a model, whose size, faults and missing rules its arguments name, or all long ones, and prints
// what was found.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tests/protocol/searches.h"

namespace shoal::protocol {
namespace {

template <class Rule>
void list_rules(const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    std::printf("%-20s %-12s without it %s\n", std::string(rule.name).c_str(), std::string(rule.law).c_str(),
                std::string(rule.without).c_str());
  }
}

void print_line(const std::string& verdict, const Finding& found) {
  const Outcome& outcome = found.outcome;
  std::printf("%s: %s: %llu states, %llu transitions, depth %d, %llu liveness searches, %llu ends, %.0f s\n",
              verdict.c_str(), found.model.c_str(), static_cast<unsigned long long>(outcome.states),
              static_cast<unsigned long long>(outcome.transitions), outcome.depth,
              static_cast<unsigned long long>(outcome.liveness_searches), static_cast<unsigned long long>(outcome.ends),
              outcome.seconds);
  std::fflush(stdout);
}

bool is_as_said(const FullSearch& full) {
  const Finding found = run_search(full.search).value();
  const bool is_ok = found.outcome.is_complete && found.outcome.states == full.states;
  print_line(is_ok ? "ok" : found.outcome.broken.value_or("NOT AS THE TABLE SAYS"), found);
  return is_ok;
}

bool is_as_said(const Removal& removal) {
  const Finding found = run_search(line_of(removal)).value();
  const std::string broken = found.outcome.broken.value_or("");
  const bool is_ok = removal.finds.empty() ? broken.empty() : broken.starts_with(removal.finds);
  print_line(is_ok ? "as expected " + (broken.empty() ? "nothing" : broken) : "NOT AS THE TABLE SAYS", found);
  return is_ok;
}

// Every long search of the tables; false: one of them has another result than its table says.
bool run_all() {
  bool is_ok = true;
  for (const FullSearch& full : long_searches()) is_ok &= is_as_said(full);
  for (const Removal& removal : long_removals()) is_ok &= is_as_said(removal);
  return is_ok;
}

int run(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& word : arguments) line += (line.empty() ? "" : " ") + word;
  if (line == "--long") return run_all() ? 0 : 1;
  if (line == "--rules") {
    list_rules(all_rules());
    list_rules(sum::all_rules());
    list_rules(communicator::all_rules());
    list_rules(journal::all_rules());
    list_rules(rounds::all_rules());
    return 0;
  }
  const auto found = run_search(line);
  if (!found) {
    std::fprintf(stderr, "%s", search_usage().c_str());
    return 2;
  }
  const Outcome& outcome = found->outcome;
  if (outcome.broken) std::printf("%s\n%s", outcome.broken->c_str(), outcome.story.c_str());
  print_line(outcome.broken ? "BROKEN" : outcome.is_complete ? "ok" : "ok so far", *found);
  return outcome.broken ? 1 : 0;
}

}  // namespace
}  // namespace shoal::protocol

int main(int argc, char** argv) { return shoal::protocol::run({argv + 1, argv + argc}); }
