// A set of microbatches of one step, as the observed actors name it: one bit each, up to kMicrobatchesMax.
//
// A run with more of them in a step is not judged.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace shoal::observed {

inline constexpr std::uint32_t kMicrobatchesMax = 1024;

class Microbatches {
 public:
  constexpr Microbatches() = default;

  // None, if the number is beyond the most that a set can hold.
  [[nodiscard]] static constexpr Microbatches of(std::uint32_t microbatch) {
    Microbatches one;
    if (microbatch < kMicrobatchesMax) one.words_[microbatch / kBits] = std::uint64_t{1} << microbatch % kBits;
    return one;
  }

  [[nodiscard]] constexpr bool empty() const { return *this == Microbatches{}; }
  constexpr Microbatches& operator|=(const Microbatches& other) {
    for (std::size_t i = 0; i < kWords; ++i) words_[i] |= other.words_[i];
    return *this;
  }
  constexpr Microbatches& operator&=(const Microbatches& other) {
    for (std::size_t i = 0; i < kWords; ++i) words_[i] &= other.words_[i];
    return *this;
  }
  // Removes those of another set.
  constexpr Microbatches& operator-=(const Microbatches& other) {
    for (std::size_t i = 0; i < kWords; ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  friend constexpr Microbatches operator|(Microbatches one, const Microbatches& other) { return one |= other; }
  friend constexpr Microbatches operator&(Microbatches one, const Microbatches& other) { return one &= other; }
  friend constexpr Microbatches operator-(Microbatches one, const Microbatches& other) { return one -= other; }
  friend constexpr auto operator<=>(const Microbatches&, const Microbatches&) = default;

 private:
  static constexpr std::uint32_t kBits = 64;
  static constexpr std::size_t kWords = kMicrobatchesMax / kBits;
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace shoal::observed
