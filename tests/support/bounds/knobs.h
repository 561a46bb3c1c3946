// Knobs: other values of bounds (runtime/base/bound.h), for as long as this lives. One of them at a time, and no other
// thread: the bounds are the program's own.
//
// drawn_of(): what a short run of the simulation is given so that it reaches what a long one would. Of the bounds that
// the list (bounds_list.h) says may be drawn each is left as it is or made small; of one seed in four all are left.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace shoal {

class Knobs {
 public:
  Knobs() = default;
  ~Knobs();  // every bound has its usual value again
  Knobs(const Knobs&) = delete;
  Knobs& operator=(const Knobs&) = delete;

  // A bound of this program (ENSURE).
  void set(std::string_view name, std::uint64_t value);
  // Draws from the seed; to see which of them a run needs to fail, takes those of SIMULATION_KNOBS="name=value ...".
  void draw(std::uint64_t seed);
  // "journal.entries_kept=2 sync.joiners_fed=1": for the story of a run that failed. Empty: all are as usual.
  [[nodiscard]] std::string text() const;
  // Runs of this program so far that drew this bound small.
  [[nodiscard]] static std::uint64_t draws_of(std::string_view name);

 private:
  void set_all(const std::string& text);

  std::map<std::string, std::uint64_t> set_;
};

}  // namespace shoal
