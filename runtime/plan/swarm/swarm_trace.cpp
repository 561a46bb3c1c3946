// Draws by counter, reads by lines.
#include "runtime/plan/swarm/swarm_trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "runtime/base/compose.h"
#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"
#include "runtime/base/time/units.h"

namespace shoal {
namespace {

constexpr double kMbit = 1e6;

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : key_(philox_key(seed)) {}

  [[nodiscard]] double uniform() {
    const auto words = philox4x32(philox_counter(count_++, stream_of("swarm")), key_);
    return uniform01(words[0], words[1]);
  }
  [[nodiscard]] double exponential(double mean) { return -mean * std::log(1 - uniform()); }
  [[nodiscard]] double logarithmic(double low, double high) { return low * std::pow(high / low, uniform()); }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t count_ = 0;
};

SwarmMachine draw_machine(const SwarmModel& model, Draws& draws, double joins_s) {
  SwarmMachine machine;
  const auto kind = static_cast<std::size_t>(draws.uniform() * static_cast<double>(model.speeds.size()));
  machine.speed = model.speeds[kind];
  machine.down_bit_s = draws.logarithmic(model.link_low_bit_s, model.link_high_bit_s);
  machine.up_bit_s = draws.logarithmic(model.link_low_bit_s, model.link_high_bit_s);
  machine.joins_s = joins_s;
  machine.leaves_s = joins_s + draws.exponential(model.lifetime_h * kSecondsPerHour);
  return machine;
}

Failure broken(std::size_t line, const std::string& what) {
  return fail(Error::kInvalidData, compose("line ", line, ": ", what));
}

// Reads the text line by line into machines.
class TraceReader {
 public:
  [[nodiscard]] Status take(const std::string& line) {
    ++line_;
    std::istringstream words(line.substr(0, line.find('#')));
    double at_s = 0;
    std::string kind;
    std::string name;
    if (!(words >> std::ws) || words.eof()) return Done{};
    if (!(words >> at_s >> kind >> name)) return broken(line_, "expected SECONDS join|leave NAME");
    if (at_s < trace_.ends_s) return broken(line_, "it is earlier than the line before it");
    trace_.ends_s = at_s;
    if (kind == "leave") return leave(at_s, name);
    if (kind == "join") return join(at_s, name, words);
    return broken(line_, "expected join or leave, not " + kind);
  }
  [[nodiscard]] Result<SwarmTrace> finish() {
    if (trace_.machines.empty() || trace_.ends_s <= 0) return broken(line_, "nothing happens in it");
    return trace_;
  }

 private:
  [[nodiscard]] Status join(double at_s, const std::string& name, std::istringstream& words) {
    SwarmMachine machine{name, 0, 0, 0, at_s};
    double down_mbit = 0;
    double up_mbit = 0;
    const bool is_whole = static_cast<bool>(words >> machine.speed >> down_mbit >> up_mbit);
    if (!is_whole || !(machine.speed > 0) || !(down_mbit > 0) || !(up_mbit > 0)) {
      return broken(line_, "expected SECONDS join NAME SPEED DOWN_MBIT UP_MBIT, all above zero");
    }
    machine.down_bit_s = down_mbit * kMbit;
    machine.up_bit_s = up_mbit * kMbit;
    if (!there_.emplace(name, trace_.machines.size()).second) return broken(line_, name + " is there already");
    trace_.machines.push_back(std::move(machine));
    return Done{};
  }
  [[nodiscard]] Status leave(double at_s, const std::string& name) {
    const auto found = there_.find(name);
    if (found == there_.end()) return broken(line_, name + " is not there");
    trace_.machines[found->second].leaves_s = at_s;
    there_.erase(found);
    return Done{};
  }

  SwarmTrace trace_;
  std::map<std::string, std::size_t> there_;
  std::size_t line_ = 0;
};

}  // namespace

SwarmTrace draw_trace(const SwarmModel& model, std::uint64_t seed) {
  ENSURE(model.nodes > 0 && !model.speeds.empty(), "a swarm has machines");
  Draws draws(seed);
  SwarmTrace trace;
  trace.ends_s = model.hours * kSecondsPerHour;
  for (std::size_t i = 0; i < model.nodes; ++i) trace.machines.push_back(draw_machine(model, draws, 0));
  const double interval_s = model.lifetime_h * kSecondsPerHour / static_cast<double>(model.nodes);
  for (double at_s = draws.exponential(interval_s); at_s < trace.ends_s; at_s += draws.exponential(interval_s)) {
    trace.machines.push_back(draw_machine(model, draws, at_s));
  }
  for (std::size_t i = 0; i < trace.machines.size(); ++i) trace.machines[i].name = compose("m", i);
  return trace;
}

Result<SwarmTrace> trace_of_text(std::string_view text) {
  TraceReader reader;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (const auto taken = reader.take(line); !taken) return taken.failure();
  }
  return reader.finish();
}

std::string text_of(const SwarmTrace& trace) {
  std::multimap<double, std::string> lines;
  for (const SwarmMachine& machine : trace.machines) {
    lines.emplace(machine.joins_s, compose("join ", machine.name, " ", machine.speed, " ", machine.down_bit_s / kMbit,
                                           " ", machine.up_bit_s / kMbit));
    if (machine.leaves_s <= trace.ends_s) lines.emplace(machine.leaves_s, "leave " + machine.name);
  }
  std::ostringstream out;
  out << "# SECONDS join NAME SPEED DOWN_MBIT UP_MBIT | SECONDS leave NAME\n" << std::fixed;
  out.precision(3);
  for (const auto& [at_s, line] : lines) out << at_s << " " << line << "\n";
  return std::move(out).str();
}

}  // namespace shoal
