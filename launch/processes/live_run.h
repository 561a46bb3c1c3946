// How a command finds a run that is under way: its directory holds the control address and the operator's certificate,
// or both are named. The address is read anew each time: a spawner that was started again may listen elsewhere.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/transport/control/control_client.h"

namespace shoal {

inline constexpr std::chrono::seconds kAskFor{10};
inline constexpr std::chrono::seconds kQuickly{3};  // shorter than the spawner's own wait for its supervisor
inline constexpr std::chrono::milliseconds kAskPause{100};

struct RunLocator {
  std::string run_directory;  // empty where `spawner` is set
  std::optional<HostPort> spawner;
  std::string certs;  // folder with the operator's certificate
};

// Of this machine, as far as can be told: false where only its address is known.
[[nodiscard]] bool is_spawner_alive(const RunLocator& where);

// That nobody is there to ask, in words for who looks at a run that is over or stands still.
[[nodiscard]] Failure explain_silence(const RunLocator& where, Failure failure);

// Connects to nobody yet. Errors: kUnreachable (no spawner has started there), kIo, kInvalidData.
[[nodiscard]] Result<ControlClient> client_of(const RunLocator& where);

// What the spawner says of its run (GET /v1/status), asked once.
[[nodiscard]] Result<nlohmann::json> ask_status(const RunLocator& where);

// client_of(), then `ask`; again for a few seconds while nobody answers, or what is asked of is not there, and the
// spawner's process is alive: its control actor may be starting again, or a worker that was lost. What was not answered
// quickly is not asked again: it may be under way, and an order is carried out once.
template <class Ask>
[[nodiscard]] auto ask_patiently(const RunLocator& where, const Ask& ask) -> decltype(ask(*client_of(where))) {
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    const auto client = client_of(where);
    if (!client) return explain_silence(where, client.failure());
    const auto asked = std::chrono::steady_clock::now();
    auto answer = ask(*client);
    const bool is_silent = !answer && answer.failure().error == Error::kUnreachable;
    const auto now = std::chrono::steady_clock::now();
    const bool is_over = now - begun >= kAskFor || now - asked >= kQuickly;
    if (!is_silent) return answer;
    if (is_over || !is_spawner_alive(where)) return explain_silence(where, answer.failure());
    std::this_thread::sleep_for(kAskPause);
  }
}

}  // namespace shoal
