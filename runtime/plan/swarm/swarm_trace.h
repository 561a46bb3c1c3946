// The machines of a swarm: how fast each is, how fast its link is, when it comes and when it is gone.
//
// As text, a line for each event, ascending by time; # begins a comment:
//   SECONDS join NAME SPEED DOWN_MBIT UP_MBIT
//   SECONDS leave NAME
// Pure. The same model and seed give the same trace.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

struct SwarmMachine {
  std::string name;
  double speed = 1;  // microbatches per second of a stage of load 1
  double down_bit_s = 0;
  double up_bit_s = 0;
  double joins_s = 0;
  double leaves_s = std::numeric_limits<double>::infinity();
};

struct SwarmTrace {
  std::vector<SwarmMachine> machines;  // ascending by joins_s
  double ends_s = 0;
};

// The pinned defaults are those of `shoal simulate swarm`. Lifetimes are exponential, and machines come at exponential
// intervals that keep their number at `nodes` on average.
struct SwarmModel {
  std::size_t nodes = 1000;
  double hours = 32;
  std::vector<double> speeds = {0.5, 1, 2};  // equally likely
  double lifetime_h = 30;
  double link_low_bit_s = 50e6;  // rates of links: evenly on a logarithmic scale, up and down drawn apart
  double link_high_bit_s = 500e6;
};

[[nodiscard]] SwarmTrace draw_trace(const SwarmModel& model, std::uint64_t seed);

// Errors: kInvalidData, naming the line.
[[nodiscard]] Result<SwarmTrace> trace_of_text(std::string_view text);
[[nodiscard]] std::string text_of(const SwarmTrace& trace);

}  // namespace shoal
