// A run as its trace would have it, written by hand: actors do what a test says, one event after the other, and a test
// then leaves out, repeats or changes what it wants to see refused.
//
// One spawner and one process per replica; replica s.r has the incarnation 10 (s + 1) + r and the same number of its
// process. The sync group of stage s has the incarnation 101 + s.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/trace/report/run_trace.h"
#include "runtime/trace/tracer.h"

namespace shoal::observed {

struct Shape {
  std::uint32_t stages = 2;
  std::uint32_t replicas = 2;
  std::uint32_t microbatches = 2;
};

class Script {
 public:
  explicit Script(Shape shape);

  [[nodiscard]] RunTrace& trace() { return trace_; }
  [[nodiscard]] static std::uint64_t replica(std::uint32_t stage, std::uint32_t slot) {
    return 10 * (stage + 1) + slot;
  }
  [[nodiscard]] static std::uint64_t group(std::uint32_t stage) { return 101 + stage; }

  // Adds all replicas, appoints the groups, and they open.
  void begin();
  // Sends a microbatch to the replica of that slot in every stage, which answers and accumulates.
  void compute(std::uint32_t microbatch, std::uint32_t slot);
  // Prepares, reduces and votes in every stage; the manifests are what was computed.
  void agree();
  void commit();
  void step();  // all of it
  // Behind a commit, of fragment 0: all contribute, all stages agree and apply; whoever is late has the mean of
  // another.
  void round(std::uint64_t number, const std::set<std::uint64_t>& late = {});

  // Pieces, for runs that go another way.
  void plan(std::uint32_t microbatch);
  void say(std::uint32_t stage, const std::string& order);  // a new epoch of its group, taken by all members
  void answer_prepare(std::uint32_t stage);
  void remove(std::uint32_t stage, std::uint32_t slot);
  void contribute_to_round();
  void agree_on_round(std::uint32_t stage, std::uint64_t number, const std::set<std::uint64_t>& late = {});
  void commit_round(std::uint32_t stage, std::uint64_t number);
  void apply_round();
  void read(std::uint32_t stage, std::uint32_t slot, const TraceEvent& entry);
  void work(std::uint64_t replica, const std::string& word, std::uint32_t microbatch);
  void accumulate(std::uint64_t replica, std::uint32_t microbatch);
  // From the router of one process to that of another (0: the spawner); whom it is for, or of.
  void letter(std::uint64_t from, std::uint64_t to, const std::string& word, const Cause& cause, std::uint64_t subject);
  void drop(std::uint64_t replica, const std::string& what, std::uint32_t microbatch);
  [[nodiscard]] Cause about(std::uint32_t stage, std::uint32_t microbatch) const;

 private:
  void record(std::uint64_t process, const std::string& actor, std::uint64_t incarnation, TraceEvent event);
  void append(const std::function<void(TraceEvent&)>& fill);
  void all_read(const TraceEvent& entry);
  void reduce(std::uint32_t stage);
  void tell(std::uint32_t stage, const std::string& word, const Cause& order, std::uint64_t member);
  [[nodiscard]] std::vector<std::uint64_t> members(std::uint32_t stage) const;
  [[nodiscard]] Cause order(std::uint32_t stage) const;
  [[nodiscard]] static std::string stage_name(std::uint64_t replica);

  const Shape shape_;
  RunTrace trace_;
  std::vector<std::unique_ptr<Tracer>> tracers_;  // of each process: they number the spans
  std::vector<std::uint64_t> processes_;
  std::int64_t now_ns_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t step_ = 0;
  std::set<std::uint64_t> gone_;
  std::vector<std::uint32_t> counters_;
  std::uint32_t round_counter_ = 0;                            // of the epochs of rounds, for all groups
  std::vector<std::uint64_t> began_;                           // the position where each group's epoch began
  std::vector<std::vector<std::vector<std::uint32_t>>> done_;  // by stage and slot: microbatches of the step
};

}  // namespace shoal::observed
