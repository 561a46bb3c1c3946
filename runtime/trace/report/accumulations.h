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

#include "runtime/trace/report/trace_check.h"

namespace shoal {

class Accumulations {
 public:
  // Reports what needs no commit: a microbatch accumulated twice between two zeroings, or by a replica of another
  // branch or of none.
  Accumulations(const RunTrace& trace, const TracedJournal& journal, CheckReport& report);

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

  void take(const TracedEvent& traced, CheckReport& report);
  void accumulate(const TracedEvent& traced, CheckReport& report);
  void hear(const TracedEvent& traced);
  [[nodiscard]] std::int64_t known_by(const TracedEntry& commit, Incarnation member) const;

  const RunTrace& trace_;
  const TracedJournal& journal_;
  std::map<Key, std::map<std::uint32_t, std::int64_t>> found_;  // microbatch -> when
  std::map<Key, std::int64_t> manifest_heard_ns_;               // by the spawner: the last one
  std::vector<std::int64_t> last_sign_ns_;                      // by life: own events, letters that came from it
  std::map<ProcessIncarnation, std::uint32_t> life_of_;
};

}  // namespace shoal
