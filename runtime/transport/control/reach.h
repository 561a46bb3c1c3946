// Finds whether others reach a node: it asks the spawner, which dials the address that the node announces to all.
//
//   POST /v1/reach {"address": "10.0.0.2:7100"}, by a node  -> {"why": "", "is_open": true}, or why it is not reached
//
// A node whose port is shut would be dialled in vain and put out of the run after a while; so it learns the reason
// within seconds of its start, and so does a person who asks for the status of the run. A node asks again while it is
// not reached: a verdict that is not repeated is forgotten. A dial is work that a node has the spawner do: only numeric
// addresses are dialled (no resolver to wait for), a certificate has one question at a time, and few are under way.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/transport/control/control_server.h"

namespace shoal {

inline constexpr std::string_view kReachPath = "/v1/reach";
inline constexpr std::chrono::milliseconds kReachWithin{2500};        // for the spawner's dial and handshake
inline constexpr std::chrono::milliseconds kReachAnswerWithin{3000};  // for its answer; an orderly end waits for it

[[nodiscard]] std::string reach_question_text(const HostPort& address);
// Errors: kUsage.
[[nodiscard]] Result<HostPort> parse_reach_question(std::string_view body);

struct ReachAnswer {
  std::string why;       // empty: it was reached
  bool is_open = false;  // somebody listens there; where `why` is not empty, it is not the node
  friend bool operator==(const ReachAnswer&, const ReachAnswer&) = default;
};
[[nodiscard]] std::string reach_answer_text(const ReachAnswer& answer);
// Errors: kInvalidData.
[[nodiscard]] Result<ReachAnswer> parse_reach_answer(std::string_view body);

// Tells if a person chose the node's port: any other one is another at its next start, so it is not worth opening.
enum class PortChoice : std::uint8_t { kGiven, kAny };

// The sentence of the node about itself, and that of the run about it, where it is not reached.
[[nodiscard]] std::string not_reached_text(const HostPort& own, const ReachAnswer& answer, PortChoice choice);
[[nodiscard]] std::string not_reached_text(const std::string& name, const HostPort& address, const ReachAnswer& answer);

// Remembers which nodes are not reached now, by the name in their certificate and their address. Pure: time comes in.
class ReachBook {
 public:
  static constexpr Duration kForgetAfter = std::chrono::seconds(15);
  static constexpr std::size_t kEntriesMax = 256;

  void note(const std::string& name, const HostPort& address, const ReachAnswer& answer, Instant now);
  // "; node2 is not reached at 10.0.0.2:7100: open ..."; empty when all are.
  [[nodiscard]] std::string explain(Instant now) const;

 private:
  struct Unreached {
    HostPort address;
    ReachAnswer answer;
    Instant asked;
  };
  std::map<std::pair<std::string, std::string>, Unreached> unreached_;  // by name and address
};

// Answers the question. Thread-safe.
class ReachService {
 public:
  static constexpr std::size_t kDialsMax = 16;  // at once, of all that ask

  // Tells how an address is reached by a node of that name. Called on connection threads, several at once;
  // takes kReachWithin.
  using TryToReach = std::function<ReachAnswer(const HostPort&, const std::string& name)>;
  explicit ReachService(TryToReach try_to_reach) : try_to_reach_(std::move(try_to_reach)) {}

  // 200; 400 malformed, or a host that is a name; 503 too many are asked for, or one of this certificate: ask again.
  [[nodiscard]] ControlResponse answer(const ControlRequest& request);
  // Explains as ReachBook does, now.
  [[nodiscard]] std::string explain() const;

 private:
  [[nodiscard]] std::optional<ControlResponse> begin(const std::string& certificate);

  TryToReach try_to_reach_;
  mutable std::mutex mutex_;  // guards what follows
  ReachBook book_;
  std::set<std::string> under_way_;  // certificates, by serial number
};

// Dials a numeric address as a link is dialled, shakes hands, waits for the first bytes that a node sends to a peer
// it admits, and leaves. A node that has shaken hands and says nothing in time is busy, and counts as reached. name:
// the node's.
[[nodiscard]] ReachAnswer try_to_reach(const HostPort& address, const std::string& name, const TlsContext& context);

}  // namespace shoal
