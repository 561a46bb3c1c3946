// A bound of a queue, cache, window, budget or history (S-6), as an object with a name.
//
// A short test sees nothing of what lies behind a bound that only a long run reaches. So each bound counts how often it
// was reached, and the tests' library, and nobody else, can give it another value for a while (tests/support/bounds):
// the simulation draws small ones from its seed. In the program a bound is a constant. The list of all bounds is
// tests/support/bounds/bounds_list.h: it says which test reaches each; tests/tidy refuses one that is not in it.
//
// Thread-safe. A bound lives as long as the program: a static object, which enters all() when the program starts.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace shoal {

class Bound {
 public:
  // name: "journal.entries_kept", for people and for the list; a literal. usual: elements or bytes, as the name says.
  Bound(std::string_view name, std::uint64_t usual);
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): it is used as the number that it is.
  operator std::uint64_t() const { return value_.load(std::memory_order_relaxed); }

  // There is no room for one more beside so many; counted.
  [[nodiscard]] bool is_reached_by(std::uint64_t count) const { return reached_if(count >= *this); }
  // Tells whether so many are more than there may be; counted.
  [[nodiscard]] bool is_exceeded_by(std::uint64_t count) const { return reached_if(count > *this); }
  // Counts where the comparison is of another kind. Returns it.
  bool reached_if(bool is_reached) const {
    if (is_reached) times_reached_.fetch_add(1, std::memory_order_relaxed);
    return is_reached;
  }

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::uint64_t usual() const { return usual_; }
  [[nodiscard]] std::uint64_t times_reached() const { return times_reached_.load(std::memory_order_relaxed); }

  // Every bound of the program, by name.
  [[nodiscard]] static std::vector<const Bound*> all();

 private:
  friend class Knobs;  // lives in the tests' library

  std::string_view name_;
  std::uint64_t usual_;
  std::atomic<std::uint64_t> value_;
  mutable std::atomic<std::uint64_t> times_reached_ = 0;
};

}  // namespace shoal
