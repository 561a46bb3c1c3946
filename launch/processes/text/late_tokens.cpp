// The lock is held for the result alone, never while a text is opened or read.
#include "launch/processes/text/late_tokens.h"

#include <algorithm>
#include <utility>

namespace shoal {
namespace {

constexpr Duration kPauseMax = std::chrono::minutes(1);

}  // namespace

Duration pause_after(Duration took, Duration least) { return std::clamp(9 * took, least, std::max(least, kPauseMax)); }

LateTokens::LateTokens(Known known, Failure why, OpenTokens open, Duration least)
    : known_(std::move(known)),
      open_(std::move(open)),
      least_(least),
      tokens_(std::move(why)),
      thread_([this](const std::stop_token& stop) { try_until_open(stop); }) {}

void LateTokens::try_until_open(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Instant start = steady_now();
    auto tokens = open_();
    const Duration pause = pause_after(steady_now() - start, least_);
    std::unique_lock lock(mutex_);
    tokens_ = std::move(tokens);
    if (tokens_) return;
    (void)over_.wait_for(lock, stop, pause, [] { return false; });
  }
}

Result<std::shared_ptr<const Tokens>> LateTokens::opened() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

Status LateTokens::read(std::uint64_t offset, std::span<std::int32_t> out) const {
  const auto tokens = opened();
  if (!tokens) return tokens.failure();
  return (*tokens)->read(offset, out);
}

}  // namespace shoal
