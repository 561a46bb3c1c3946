// An experiment as data: a question, and the runs (arms) whose last evaluations answer it.
//
// Arms differ in settings alone; all of them train by the same command. What was published about the same question
// stands beside each arm, so that a table shows both. The experiments themselves are in launch/experiments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

struct ExperimentArm {
  std::string name;                   // names its folder: lower case, digits, dashes
  std::string meaning;                // names it for a reader of the table
  std::vector<std::string> settings;  // KEY=VALUE, after the experiment's own
  std::string against;                // the arm that it is compared with; empty: others are compared with it
  double published_perplexity = 0;
  double at = 0;  // value of what it varies: the x axis of the second picture
};

struct Experiment {
  std::string name;
  std::string question;
  std::vector<std::string> settings;  // shared by every arm
  std::uint64_t steps = 0;
  std::vector<ExperimentArm> arms;       // in the order in which they run
  std::optional<std::string> varied;     // label of the second picture's x axis; without it there is one picture
  std::string published;                 // source of the published figures
  std::vector<std::string> differences;  // differences from what was published, a sentence each
};

}  // namespace shoal
