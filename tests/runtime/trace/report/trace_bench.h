// The trace of a small run, event by event, as the actors would have recorded it: 2 stages x 2 replicas, each in a node
// of its own. Tests change single events of it and look what the reports say then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

struct BenchShape {
  std::uint64_t steps = 3;
  std::uint32_t microbatches = 4;
  TraceLevel level = TraceLevel::kAll;
};

class TraceBench {
 public:
  using Which = std::function<bool(const TraceEvent&)>;

  explicit TraceBench(BenchShape shape = {});

  // "spawner", "node1" .. "node4": stage/0/0, stage/0/1, stage/1/0, stage/1/1 as replicas 11 .. 14.
  [[nodiscard]] TraceLife& life(const std::string& name) { return lives_.at(name); }
  // Number `index` of those events of a life that `which` is true of.
  [[nodiscard]] TraceEvent& event(const std::string& name, const Which& which, std::size_t index = 0);
  // Takes it out of the trace.
  void drop(const std::string& name, const Which& which, std::size_t index = 0);
  void add(const std::string& name, const TraceEvent& event) { life(name).events.push_back(event); }
  // The process is killed: what it recorded from then on is not there.
  void cut(const std::string& name, std::int64_t time_ns);
  // The journal's next entry, as the supervisor records it and all replicas follow it. Gives its position.
  std::uint64_t append(TraceEvent entry, std::int64_t time_ns);
  [[nodiscard]] ActorName name_of(const std::string& life_name, const std::string& actor);

  [[nodiscard]] RunTrace trace() const;
  [[nodiscard]] std::int64_t now_ns() const { return now_ns_; }

 private:
  void begin_run();
  void train(std::uint64_t step);
  void pass(std::uint64_t step, std::uint32_t microbatch);
  void commit(std::uint64_t step);
  void reduce(std::uint64_t step);
  void send(const std::string& from, const std::string& to, TraceEvent letter);
  void record(const std::string& life_name, const std::string& actor, TraceEvent event);
  [[nodiscard]] std::uint64_t work(std::uint64_t replica, const std::string& word, std::uint64_t step,
                                   std::uint32_t microbatch);
  void tick() { now_ns_ += 1'000'000; }

  BenchShape shape_;
  std::map<std::string, TraceLife> lives_;
  std::int64_t now_ns_ = 0;
  std::uint64_t spans_ = 0;
  std::uint64_t position_ = 0;
};

// Predicates for `which`.
[[nodiscard]] TraceBench::Which of_kind(TraceKind kind);
[[nodiscard]] TraceBench::Which of_step(TraceKind kind, std::uint64_t step);

inline constexpr std::uint64_t kFirstReplica = 11;
[[nodiscard]] std::string node_of(std::uint64_t replica);

}  // namespace shoal
