// A number for a sequence of bytes and numbers: equal for equal sequences, and for others hardly ever. Two programs
// that print equal ones for a seed have sent the same letters and written the same entries.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace shoal {

class Digest {
 public:
  void add(std::uint64_t number) { value_ = (value_ ^ number ^ value_ >> 29) * 0x9E3779B97F4A7C15ULL; }

  // Adds bytes with their count, so that two spans are told from one that holds both.
  void add(std::span<const char> bytes) {
    add(bytes.size());
    for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) add(word_of(bytes));
    if (!bytes.empty()) add(word_of(bytes));
  }

  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  // The first eight bytes; zeros where there are fewer.
  [[nodiscard]] static std::uint64_t word_of(std::span<const char> bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size() < sizeof(word) ? bytes.size() : sizeof(word));
    return word;
  }

  std::uint64_t value_ = 0;
};

// All runs of this program that ended since it was last asked; tests/simulation/seeds.h writes it down for each seed.
class DigestOfRuns {
 public:
  static void add(std::uint64_t run) { sum().add(run); }
  [[nodiscard]] static std::uint64_t take() { return std::exchange(sum(), {}).value(); }

 private:
  [[nodiscard]] static Digest& sum() {
    static Digest digest;
    return digest;
  }
};

}  // namespace shoal
