// Compares what each replica accumulated for each step, by its own record, with what commits count for it (S-1).
//
// A replica that was zeroed begins its step again. What a process had not written when it was killed is missing here;
// compare() says which of it can be excused.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/trace/report/check/check_passing.h"
#include "runtime/trace/report/check/findings.h"

namespace shoal {

inline constexpr std::int64_t kLastWordsNs = 200'000'000;  // a killed process may not have written so much of its end

// Accumulations of the steps that a window is about.
class Accumulations {
 public:
  // `window`: in order of time, all of the events about its steps.
  Accumulations(const RunTrace& window, const TracedMembers& members, const SignsOfLife& signs);

  struct Comparison {
    std::uint64_t seen = 0;
    std::set<std::uint32_t> excused;
    std::set<std::uint32_t> unseen;     // counted, recorded by nobody, and no excuse
    std::set<std::uint32_t> uncounted;  // recorded, not counted
    std::string why_not_excused;        // ", and its process lived on for 1.2 s"
    std::string note;                   // why nothing could be compared
  };
  [[nodiscard]] Comparison compare(const TracedEntry& commit, const TracedShare& share) const;

 private:
  using Key = std::tuple<Branch, StepId, Incarnation>;

  void take(const TracedEvent& traced);
  [[nodiscard]] std::int64_t known_by(const TracedEntry& commit, Incarnation member) const;

  const RunTrace& trace_;
  const TracedMembers& members_;
  const SignsOfLife& signs_;
  std::map<Key, std::set<std::uint32_t>> found_;   // microbatches
  std::map<Key, std::int64_t> manifest_heard_ns_;  // by the spawner: the last one
};

// True for the event by which a replica begins its step again.
[[nodiscard]] bool is_zeroing(const TraceEvent& event);

}  // namespace shoal
