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
  std::string name;                   // of its folder: lower case, digits, dashes
  std::string meaning;                // what a reader of the table calls it
  std::vector<std::string> settings;  // KEY=VALUE, after the experiment's own
  std::string against;                // the arm that it is compared with; empty: others are compared with it
  double published_perplexity = 0;
  double at = 0;  // what it varies, as a number: the x axis of the second picture
};

struct Experiment {
  std::string name;
  std::string question;
  std::vector<std::string> settings;  // of every arm
  std::uint64_t steps = 0;
  std::vector<ExperimentArm> arms;       // in the order in which they run
  std::optional<std::string> varied;     // label of the second picture's x axis; without it there is one picture
  std::string published;                 // where the published figures are from
  std::vector<std::string> differences;  // from what was published, a sentence each
};

}  // namespace shoal
