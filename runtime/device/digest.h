// XXH3-64 over a sequence of byte ranges: the cheap digest of every step (S-3). Not a defence against forgery.
// Equal bytes in equal order give equal digests, however they are cut into ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace shoal {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shoal
