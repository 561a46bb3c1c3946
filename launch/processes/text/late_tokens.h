// Tokens whose number and digest are known while the text cannot be opened: a spawner that comes back while a shard is
// away plans and waits as it did before, and goes on when the shard is back.
//
// A thread tries to open them until that succeeds, with pauses that grow with what an attempt costs: it may read the
// whole text, and nobody waits for it. Until then each read fails and says why. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/data/token_store.h"
#include "runtime/data/tokens.h"

namespace shoal {

// Opens the tokens and compares them with what is known. Called by the thread alone.
using OpenTokens = std::function<Result<std::shared_ptr<const Tokens>>()>;

// Returns the pause after an attempt that took so long: a tenth of the time at most is spent on attempts, and a text
// that is back is noticed within a minute.
[[nodiscard]] Duration pause_after(Duration took, Duration least);

class LateTokens final : public TokenStore {
 public:
  struct Known {
    std::uint64_t count = 0;
    std::string sha256;
    std::string list;  // of shards
  };
  // why: the last attempt failed with it. least: the shortest pause between two attempts.
  LateTokens(Known known, Failure why, OpenTokens open, Duration least);
  ~LateTokens() override = default;
  LateTokens(const LateTokens&) = delete;
  LateTokens& operator=(const LateTokens&) = delete;

  [[nodiscard]] std::uint64_t count() const override { return known_.count; }
  // Errors: those of the last attempt, until one has succeeded; then those of the tokens.
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::int32_t> out) const override;
  [[nodiscard]] std::string sha256() const override { return known_.sha256; }
  [[nodiscard]] std::string list() const override { return known_.list; }

 private:
  void try_until_open(const std::stop_token& stop);
  [[nodiscard]] Result<std::shared_ptr<const Tokens>> opened() const;

  const Known known_;
  const OpenTokens open_;
  const Duration least_;
  mutable std::mutex mutex_;
  std::condition_variable_any over_;  // never notified: it ends the pause when the thread is to stop
  Result<std::shared_ptr<const Tokens>> tokens_;
  std::jthread thread_;  // the last one: it ends before what it uses
};

}  // namespace shoal
