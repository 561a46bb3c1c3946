// xxHash behind the header.
#include "runtime/device/digest.h"

#include <xxhash.h>

#include "runtime/base/check.h"

namespace shoal {

struct Digest::State {
  XXH3_state_t* hash = XXH3_createState();
  State() {
    CHECK(hash != nullptr, "memory for a digest");
    XXH3_64bits_reset(hash);
  }
  ~State() { XXH3_freeState(hash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Digest::Digest() : state_(std::make_unique<State>()) {}
Digest::~Digest() = default;

void Digest::add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_->hash, bytes.data(), bytes.size()); }

std::uint64_t Digest::value() const { return XXH3_64bits_digest(state_->hash); }

}  // namespace shoal
