// A set of fingerprints: open addressing, eight bytes each, doubled when it is six tenths full.
//
// Zero marks a free place, so a fingerprint of zero is kept as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal::protocol {

class Fingerprints {
 public:
  explicit Fingerprints(std::size_t capacity = 1 << 16) : places_(capacity, 0) {}

  // False: it was there.
  bool insert(std::uint64_t fingerprint) {
    if (count_ * 10 > places_.size() * 6) grow();
    std::uint64_t& place = places_[place_of(fingerprint)];
    if (place != 0) return false;
    place = fingerprint == 0 ? 1 : fingerprint;
    ++count_;
    return true;
  }
  [[nodiscard]] bool contains(std::uint64_t fingerprint) const { return places_[place_of(fingerprint)] != 0; }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  // Finds its place, or the place where it would be.
  [[nodiscard]] std::size_t place_of(std::uint64_t fingerprint) const {
    if (fingerprint == 0) fingerprint = 1;
    const std::size_t last = places_.size() - 1;
    std::size_t at = fingerprint & last;
    while (places_[at] != 0 && places_[at] != fingerprint) at = (at + 1) & last;
    return at;
  }
  void grow() {
    std::vector<std::uint64_t> old(places_.size() * 2, 0);
    old.swap(places_);
    for (const std::uint64_t fingerprint : old) {
      if (fingerprint != 0) places_[place_of(fingerprint)] = fingerprint;
    }
  }

  std::vector<std::uint64_t> places_;  // a power of two
  std::size_t count_ = 0;
};

}  // namespace shoal::protocol
