// Signals go to processes by their command lines, orders by `shoal kill`, cuts by the emulator's words.
#include "tests/bench/recovery_faults.h"

#include <signal.h>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr Expected kRemoves{true, true, false, false};
constexpr Expected kKeepsAll{false, true, false, false};
constexpr Expected kRemovesByCommand{true, true, true, false};
constexpr Expected kKeepsAllByCommand{false, true, true, false};
constexpr Expected kOfTheSpawner{false, true, true, false, Milliseconds(250)};
constexpr Expected kPasses{false, false, false, true};
constexpr Expected kLastsAndRemoves{true, true, false, true};

void pass(Milliseconds time) {
  (void)wait_until([] { return false; }, time);
}

void signal_all(const ProcessScene& scene, const std::string& words, const std::string& more, int number) {
  for (const ProcessEntry& process : named_like(named_like(scene.processes(), words), more)) {
    ::kill(process.pid, number);
  }
}

std::function<void(ProcessScene&)> by_signal(std::string words, std::string more, int number) {
  return [words, more, number](ProcessScene& scene) { signal_all(scene, words, more, number); };
}

std::function<void(ProcessScene&)> by_command(std::string target, std::string how) {
  return [target, how](ProcessScene& scene) {
    scene.run_to_end({"kill", target, "--how", how, "--run", scene.run("run").string()});
  };
}

std::function<void(ProcessScene&)> frozen_for(Milliseconds time) {
  return [time](ProcessScene& scene) {
    signal_all(scene, "shoal-worker node", "--name node2 ", SIGSTOP);
    pass(time);
    signal_all(scene, "shoal-worker node", "--name node2 ", SIGCONT);
  };
}

void say(LinkEmulator& network, const std::string& words) {
  const auto obeyed = network.command(words);
  ENSURE(obeyed.ok(), words);
}

// Half of the nodes, with a replica of each stage, reach nobody but each other.
void cut_half(ProcessScene& scene, LinkEmulator& network, Milliseconds time) {
  const RunRecords records = scene.records("run");
  const std::vector<std::string> away = {node_of(records, 0, 1), node_of(records, 1, 1)};
  const std::vector<std::string> others = {"spawner", "storage", node_of(records, 0, 0), node_of(records, 1, 0)};
  const auto tell_all = [&](const char* verb) {
    for (const std::string& node : away) {
      for (const std::string& other : others) say(network, compose(verb, " ", node, " <-> ", other));
    }
  };
  tell_all("cut");
  pass(time);
  tell_all("heal");
}

}  // namespace

std::vector<Fault> ends() {
  const std::string worker = "shoal-worker node";
  const std::string keeper = "bin/shoal node";
  return {{"a stage actor ends", by_command("stage/1/0", "exit"), kRemovesByCommand},
          {"a stage actor throws", by_command("stage/0/0", "throw"), kRemovesByCommand},
          {"the data loader ends", by_command("data_loader", "exit"), kOfTheSpawner},
          {"a sync group ends", by_command("sync_group/0", "exit"), kOfTheSpawner},
          {"metrics ends", by_command("metrics", "exit"), kOfTheSpawner},
          {"control ends", by_command("control", "exit"), kOfTheSpawner},
          {"the storage actor ends", by_command("storage", "exit"), kKeepsAllByCommand},
          {"a worker's tracer ends", by_command("tracer/node3", "exit"), kKeepsAllByCommand},
          {"a worker's router ends", by_command("router/node3", "exit"), kRemovesByCommand},
          {"a worker's node agent ends", by_command("node_agent/node4", "exit"), kRemovesByCommand},
          {"SIGKILL of a worker", by_signal(worker, "--name node2 ", SIGKILL), kRemoves},
          {"SIGKILL of a node's keeper", by_signal(keeper, "--name node1 ", SIGKILL), kRemoves},
          {"SIGKILL of a whole node",
           [keeper, worker](ProcessScene& scene) {
             signal_all(scene, keeper, "--name node4 ", SIGKILL);
             signal_all(scene, worker, "--name node4 ", SIGKILL);
           },
           kRemoves},
          {"SIGKILL of storage", by_signal("internal-storage", "", SIGKILL), kKeepsAll},
          {"SIGKILL of the spawner", by_signal("internal-spawner", "", SIGKILL), kKeepsAll}};
}

std::vector<Fault> silences(LinkEmulator& network) {
  using std::chrono::seconds;
  const auto cut = [&network](std::string words, Milliseconds time) {
    return [&network, words, time](ProcessScene&) {
      say(network, "cut " + words);
      pass(time);
      say(network, "heal " + words);
    };
  };
  return {{"a worker is frozen for 5 s", frozen_for(seconds(5)), kPasses},
          {"a node is cut off for 5 s", cut("node3 <-> *", seconds(5)), kPasses},
          {"a node is cut off for 30 s", cut("node3 <-> *", seconds(30)), kLastsAndRemoves},
          {"a node hears nobody for 30 s", cut("* -> node4", seconds(30)), kLastsAndRemoves},
          {"half of the nodes are cut off for 30 s",
           [&network](ProcessScene& scene) { cut_half(scene, network, seconds(30)); }, kLastsAndRemoves},
          {"a worker is frozen for 60 s", frozen_for(seconds(60)), kLastsAndRemoves}};
}

std::string node_of(const RunRecords& records, std::uint32_t stage, std::uint32_t slot) {
  std::map<std::string, std::string> node_of_process;  // by number
  std::string process;
  const std::string place = compose("added to stage ", stage, " (slot ", slot, ", process ");
  for (const EventLine& line : records.events) {
    const auto at = line.text.find(place);
    if (at != std::string::npos)
      process = std::to_string(std::strtoull(line.text.c_str() + at + place.size(), nullptr, 10));
    const std::string joined = "as process ";
    const auto number = line.reason.find(joined);
    if (line.event != "joined" || number == std::string::npos) continue;
    node_of_process[std::to_string(std::strtoull(line.reason.c_str() + number + joined.size(), nullptr, 10))] =
        line.subject;
  }
  return node_of_process[process];
}

}  // namespace shoal
