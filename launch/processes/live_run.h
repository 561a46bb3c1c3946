// Finds a run that is under way, for commands: its directory holds the control address and the operator's certificate,
// or both are named. The address is read anew each time: a spawner that was started again may listen elsewhere.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/transport/control/control_client.h"

namespace shoal {

struct RunLocator {
  std::string run_directory;  // empty where `spawner` is set
  std::optional<HostPort> spawner;
  std::string certs;  // folder with the operator's certificate
};

// Of this machine, as far as can be told: false where only its address is known.
[[nodiscard]] bool is_spawner_alive(const RunLocator& where);

// Its last record says so, and no command goes on with it.
[[nodiscard]] bool is_run_over(const std::string& run_directory);

// Returns a sentence for a person who looks at a run that is over or stands still: no process is there to ask.
[[nodiscard]] Failure explain_silence(const RunLocator& where, Failure failure);

// Connects to nobody yet. Errors: kUnreachable (no spawner has started there), kUsage (the directory is a copy, and its
// spawner that of another one), kIo, kInvalidData.
[[nodiscard]] Result<ControlClient> client_of(const RunLocator& where);

// What the spawner says of its run (GET /v1/status), asked once.
[[nodiscard]] Result<nlohmann::json> ask_status(const RunLocator& where);

// A question without an answer, or about something that is not there.
struct Silence {
  Duration since_first{};  // question
  Duration of_this{};      // how long it took
  bool was_asked = false;  // the connection was made: the order may be under way
  bool is_spawner_alive = false;
  bool is_spawner_kept = false;  // its keeper is there and starts it again
};
inline constexpr std::chrono::seconds kAskFor{10};
inline constexpr std::chrono::seconds kQuickly{3};  // shorter than the spawner's own wait for its supervisor
// Whether to ask again, for kAskFor in all: the control actor may be starting again, or a worker that was lost, or the
// spawner itself. What was not answered quickly, or by a spawner that is gone since, may be under way, and an order is
// carried out once.
[[nodiscard]] bool is_asked_again(const Silence& silence);

// An order to the control endpoint; again as is_asked_again() says. Errors: as ControlConnection's, explained.
[[nodiscard]] Result<ControlResponse> post_patiently(const RunLocator& where, const std::string& path,
                                                     const std::string& body);

}  // namespace shoal
