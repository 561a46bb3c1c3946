// The list of faults. Each does nothing where there is nothing left to harm.
#include "tests/simulation/faults.h"

#include <array>
#include <chrono>

#include "runtime/base/compose.h"
#include "runtime/journal/view.h"
#include "runtime/trace/trace_words.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kPatience = 1500;  // messages until a letter of the wanted kind

// A step is decided by these.
constexpr std::array<std::string_view, 9> kKinds = {"Forward", "Backward", "Prepare",        "Manifest", "Reduce",
                                                    "Part",    "Reduced",  "JournalEntries", "Progress"};

[[nodiscard]] std::string any_of(const std::vector<std::string>& names, Chance& chance) {
  return names.empty() ? std::string() : names[chance.below(names.size())];
}

[[nodiscard]] std::string a_node(const SimulatedSwarm& swarm, Chance& chance) {
  return any_of(nodes_of(swarm), chance);
}

// The spawner and storage included.
[[nodiscard]] std::string anybody(const SimulatedSwarm& swarm, Chance& chance) {
  auto names = swarm.processes();
  if (swarm.is_alive("spawner")) names.push_back("spawner");
  return any_of(names, chance);
}

// Shorter than any time-out, as long as some, or longer than the silence that means death.
[[nodiscard]] Duration a_while(Chance& chance) {
  const Duration longest = std::array<Duration, 3>{200ms, 8s, 30s}.at(chance.below(3));
  return Duration(static_cast<Duration::rep>(chance.below(static_cast<std::uint64_t>(longest.count()))));
}

[[nodiscard]] std::string text_of(Duration duration) { return compose(milliseconds(duration), " ms"); }

[[nodiscard]] std::string kill_process(SimulatedSwarm& swarm, const std::string& name) {
  if (name.empty() || !swarm.is_alive(name)) return "nobody to kill";
  swarm.kill(name);
  return "killed " + name;
}

std::string kill_node(SimulatedSwarm& swarm, Chance& chance) { return kill_process(swarm, a_node(swarm, chance)); }

std::string kill_spawner(SimulatedSwarm& swarm, Chance&) { return kill_process(swarm, "spawner"); }

std::string kill_storage(SimulatedSwarm& swarm, Chance&) { return kill_process(swarm, "storage"); }

std::string kill_at_write(SimulatedSwarm& swarm, Chance& chance) {
  if (!swarm.is_alive("spawner")) return "no journal";
  const std::uint64_t write = 1 + chance.below(4);
  const bool is_durable = chance.below(2) == 0;
  swarm.kill_at_write(write, is_durable ? WriteFate::kDurable : WriteFate::kLost);
  return compose("the spawner dies at write ", write, is_durable ? ", after it" : ", before it is durable");
}

std::string kill_stage(SimulatedSwarm& swarm, Chance& chance) {
  const std::string node = a_node(swarm, chance);
  return !node.empty() && swarm.kill_stage(node) ? "ended the stage of " + node : "no stage to end";
}

std::string kill_group(SimulatedSwarm& swarm, Chance& chance) {
  const std::string group = compose("sync_group/", chance.below(swarm.shape().stages));
  return swarm.kill_child(group) ? "ended " + group : "no group to end";
}

std::string kill_loader(SimulatedSwarm& swarm, Chance&) {
  return swarm.kill_child("data_loader") ? "ended the data loader" : "no data loader to end";
}

// Longer than the supervisor's patience, it has a successor when it wakes up.
std::string freeze_child(SimulatedSwarm& swarm, Chance& chance) {
  const std::uint64_t which = chance.below(swarm.shape().stages + 1);
  const std::string child = which == 0 ? "data_loader" : compose("sync_group/", which - 1);
  const Duration time = a_while(chance);
  return swarm.freeze_child(child, time) ? compose("froze ", child, " for ", text_of(time)) : "nobody to freeze";
}

std::string cut_all_links(SimulatedSwarm& swarm, Chance& chance) {
  const std::string name = anybody(swarm, chance);
  if (name.empty()) return "nobody to cut off";
  swarm.cut(name);
  return "cut all links of " + name;
}

std::string cut_one_link(SimulatedSwarm& swarm, Chance& chance) {
  const std::string one = anybody(swarm, chance);
  const std::string other = anybody(swarm, chance);
  if (one.empty() || one == other) return "no link to cut";
  swarm.cut(one, other);
  return compose("cut the links between ", one, " and ", other);
}

std::string break_lanes(SimulatedSwarm& swarm, Chance& chance) {
  const std::string name = a_node(swarm, chance);
  if (name.empty()) return "no lanes to break";
  const auto port = swarm.port_of(name);
  const auto broken = swarm.network().lanes().break_those(
      [port](SimulatedPort one, SimulatedPort other) { return one == port || other == port; });
  return compose("broke ", broken, " lanes of ", name, ", their links are well");
}

// Longer than the silence that means death, it is a false suspicion: who was given up goes on talking.
std::string pause_process(SimulatedSwarm& swarm, Chance& chance) {
  const std::string name = anybody(swarm, chance);
  if (name.empty()) return "nobody to pause";
  const Duration time = a_while(chance);
  swarm.pause(name, time);
  return compose("paused ", name, " for ", text_of(time));
}

std::string stall_one_way(SimulatedSwarm& swarm, Chance& chance) {
  const std::string from = anybody(swarm, chance);
  const std::string to = anybody(swarm, chance);
  if (from.empty() || from == to) return "no way to stall";
  const Duration time = a_while(chance);
  swarm.stall(from, to, time);
  return compose("stalled the way from ", from, " to ", to, " for ", text_of(time));
}

// Isolates a process from everybody, everybody from it, or both: a partition that heals.
std::string isolate(SimulatedSwarm& swarm, Chance& chance) {
  const std::string name = anybody(swarm, chance);
  if (name.empty()) return "nobody to isolate";
  const Duration time = a_while(chance);
  const std::uint64_t ways = 1 + chance.below(3);
  auto others = swarm.processes();
  if (swarm.is_alive("spawner")) others.push_back("spawner");
  for (const std::string& other : others) {
    if (other == name) continue;
    if ((ways & 1U) != 0) swarm.stall(name, other, time);
    if ((ways & 2U) != 0) swarm.stall(other, name, time);
  }
  const char* const kWays[] = {"", "what it sends", "what it is sent", "both ways"};
  return compose("isolated ", name, " (", kWays[ways], ") for ", text_of(time));
}

std::string slow_one_way(SimulatedSwarm& swarm, Chance& chance) {
  const std::string from = anybody(swarm, chance);
  const std::string to = anybody(swarm, chance);
  if (from.empty() || from == to) return "no way to slow";
  const Duration longest = 20ms * (1 + chance.below(50));
  swarm.network().slow({swarm.port_of(from), swarm.port_of(to)}, longest);
  return compose("slowed the way from ", from, " to ", to, " to ", text_of(longest));
}

void send_to_another(SimulatedSwarm& swarm, const SimulatedHop& hop, Letter letter) {
  auto& forward = std::get<Forward>(letter.body);
  View view;
  for (const JournalEntry& entry : swarm.journal()) view.apply(entry);
  auto& replica = forward.path.at(forward.cause.hop);
  for (const ReplicaMember& other : view.replicas_of(StageId{forward.cause.hop})) {
    const auto port = swarm.port_of(other.process);
    if (other.incarnation == replica || !port) continue;
    replica = other.incarnation;
    letter.to = to_stage(other.process, other.incarnation);
    (void)swarm.network().inject({hop.from, *port}, letter);
    return;
  }
}

using Inflict = std::string (*)(SimulatedSwarm&, Chance&);

// Several times: what hurts most.
constexpr Inflict kFaults[] = {
    kill_node,     kill_node,     kill_stage,   kill_stage,    kill_group,       freeze_child,     kill_loader,
    kill_spawner,  kill_at_write, kill_storage, cut_all_links, cut_one_link,     pause_process,    pause_process,
    stall_one_way, isolate,       slow_one_way, break_lanes,   double_a_forward, double_a_forward, double_a_forward};

}  // namespace

std::string inflict_some(SimulatedSwarm& swarm, const LetterWatch& watch, Chance& chance) {
  std::string story;
  for (std::uint64_t fault = 1 + chance.below(3); fault > 0; --fault) {
    if (!run_to_moment(swarm, watch, chance, story)) break;
    story += inflict_any(swarm, chance) + "; ";
  }
  return story;
}

std::string expect_harmless(WatchedSwarm& watched, Chance& chance) {
  auto& [watch, swarm] = watched;
  std::string story = inflict_some(swarm, watch, chance);
  swarm.run();
  EXPECT_EQ(violations(swarm), "") << story;
  return story;
}

std::string double_a_forward(SimulatedSwarm& swarm, Chance& chance) {
  const auto forwards_left = std::make_shared<std::uint64_t>(1 + chance.below(12));
  const std::string text = compose("doubled the Forward that is ", *forwards_left, " from here");
  swarm.network().set_fault([&swarm, forwards_left](const SimulatedHop& hop, const Letter& letter) {
    const auto* forward = std::get_if<Forward>(&letter.body);
    const bool is_meant =
        forward != nullptr && forward->purpose == Purpose::kTrain && *forwards_left > 0 && --*forwards_left == 0;
    if (is_meant) send_to_another(swarm, hop, letter);
    return std::vector<Letter>{letter};
  });
  return text;
}

LetterFilter LetterWatch::filter() const {
  return [counts = counts_](const Letter& letter) {
    ++(*counts)[word_of(letter.body)];
    return 1;
  };
}

std::uint64_t LetterWatch::seen(std::string_view kind) const {
  const auto found = counts_->find(kind);
  return found == counts_->end() ? 0 : found->second;
}

bool run_to_moment(SimulatedSwarm& swarm, const LetterWatch& watch, Chance& chance, std::string& story) {
  const std::string_view kind = kKinds.at(chance.below(kKinds.size()));
  const std::uint64_t count = 1 + chance.below(30);
  const std::uint64_t after = chance.below(2) == 0 ? 0 : chance.below(20);
  const std::uint64_t wanted = watch.seen(kind) + count;
  const std::uint64_t deadline = swarm.clockwork().messages() + kPatience;
  while (watch.seen(kind) < wanted && swarm.clockwork().messages() < deadline) {
    if (!swarm.run_one()) return false;
  }
  const std::uint64_t at = swarm.clockwork().messages() + after;
  story += compose("at message ", at, " (", kind, " ", wanted, "): ");
  return run_to_message(swarm, at);
}

std::string inflict_any(SimulatedSwarm& swarm, Chance& chance) {
  return kFaults[chance.below(std::size(kFaults))](swarm, chance);
}

}  // namespace shoal
