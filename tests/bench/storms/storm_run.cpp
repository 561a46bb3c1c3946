// One spawner, many keepers.
#include "tests/bench/storms/storm_run.h"

#include <signal.h>

#include <algorithm>

namespace shoal {
namespace {

constexpr Milliseconds kFarewell{60'000};

}  // namespace

StormRun::StormRun(StormSetup setup) : setup_(std::move(setup)) {
  scene_.set_environment(setup_.environment);
  std::vector<std::string> words{"spawner", "--out", scene_.run().string()};
  for (auto& word : settings_of(scene_, setup_.run)) words.push_back(std::move(word));
  spawner_ = &scene_.start(std::move(words));
  join_words_ = wait_for_join_words(*spawner_);
  watcher_.emplace(scene_.run() / "metrics.jsonl");
}

bool StormRun::begin(std::size_t steps) {
  for (int count = 0; count < setup_.nodes; ++count) (void)join();
  return watcher_->wait_for_steps(steps);
}

const StormNode& StormRun::join() {
  const std::string name = "node" + std::to_string(nodes_.size() + 1);
  auto words = join_words_;
  words.insert(words.end(), {"--name", name, "--device", "paced:" + std::to_string(setup_.pace_ms)});
  const auto asked_at = WatchClock::now();
  nodes_.push_back({name, &scene_.start(std::move(words)), asked_at});
  return nodes_.back();
}

StormNode& StormRun::node(const std::string& name) { return *std::ranges::find(nodes_, name, &StormNode::name); }

void StormRun::drain(const std::string& name) {
  node(name).is_leaving = true;
  orders_.push_back(&scene_.start({"drain", name, "--run", scene_.run().string()}));
}

void StormRun::terminate(const std::string& name) {
  node(name).is_leaving = true;
  node(name).keeper->signal(SIGTERM);
}

std::vector<std::string> StormRun::serving(const std::vector<std::pair<int, int>>& places) const {
  const auto events = scene_.records().events;
  std::vector<std::string> nodes;
  for (const auto& [stage, slot] : places) {
    const std::string place = "to stage " + std::to_string(stage) + " (slot " + std::to_string(slot) + ", process ";
    for (const EventLine& view : events) {
      const auto at = view.subject.find(place);
      if (at == std::string::npos) continue;
      const std::string number = view.subject.substr(at + place.size(), view.subject.find(')', at) - at - place.size());
      const auto joined = std::ranges::find_if(events, [&](const EventLine& event) {
        return event.event == "joined" && (event.reason + ",").starts_with("as process " + number + ",");
      });
      if (joined != events.end()) nodes.push_back(joined->subject);
      break;
    }
  }
  return nodes;
}

bool StormRun::kill_node(const std::string& name) {
  const auto worker = scene_.worker_of(name);
  node(name).is_leaving = true;
  node(name).keeper->signal(SIGKILL);
  return worker && ::kill(worker->pid, SIGKILL) == 0;
}

bool StormRun::kill_spawner() {
  const auto found = named_like(scene_.processes(), "shoal internal-spawner");
  return found.size() == 1 && ::kill(found.front().pid, SIGKILL) == 0;
}

void StormRun::pass_until(WatchClock::time_point then) {
  const auto is_then = [&] { return WatchClock::now() >= then; };
  const auto most = std::chrono::ceil<Milliseconds>(then - WatchClock::now());
  if (!is_then()) (void)watcher_->wait(is_then, most + Milliseconds(1000));
}

std::vector<std::string> StormRun::here() const {
  std::vector<std::string> names;
  for (const StormNode& one : nodes_) {
    if (!one.is_leaving) names.push_back(one.name);
  }
  return names;
}

StormEnd StormRun::end() {
  StormEnd end;
  const auto complain = [&end](bool is_wrong, const std::string& what) {
    if (is_wrong && end.complaint.empty()) end.complaint = what;
  };
  for (Program* order : orders_) complain(order->wait(kFarewell) != 0, order->command_line() + ": " + order->err());
  watcher_->look();
  spawner_->signal(SIGTERM);
  complain(spawner_->wait(kRunLimit) != 75, "the run was not saved: " + spawner_->err());
  for (const StormNode& one : nodes_) {
    const auto status = one.keeper->wait(kFarewell);
    complain(status != 0 && status != 128 + SIGKILL, one.name + " did not leave: " + one.keeper->err());
  }
  const RunRecords records = scene_.records();
  for (const EventLine& line : records.events) ++end.events[line.event];
  end.weights = records.weights();
  end.steps = records.finals.empty() ? 0 : records.finals.back().steps;
  const auto single = train(scene_, "single", setup_.run, {"--single", "--steps", std::to_string(end.steps)});
  complain(end.steps == 0 || scene_.run_to_end(single) != 0, "no single process trained as many steps");
  end.weights_of_single = scene_.records("single").weights();
  complain(end.weights.size() != 64 || end.weights != end.weights_of_single,
           "the weights are not those of one process");
  Program& check = scene_.start({"trace", "check", scene_.run().string()});
  complain(check.wait(kRunLimit) != 0, "the trace does not hold: " + check.out() + check.err());
  complain(end.events["rolled_back"] != 0, "the run went back to a checkpoint");
  end.is_in_order = end.complaint.empty();
  return end;
}

}  // namespace shoal
