// Finds whether others reach a node: it asks the spawner, which dials the address that the node announces to all.
//
//   POST /v1/reach {"address": "10.0.0.2:7100"}, by a node  -> {"why": ""}, or why it is not reached
//
// A node whose port is shut would be dialled in vain and put out of the run after a while; so it hears the reason
// within seconds of its start, and so does who asks for the status of the run. A node asks again while it is not
// reached: what is not repeated is forgotten.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/transport/control/control_server.h"

namespace shoal {

inline constexpr std::string_view kReachPath = "/v1/reach";
inline constexpr std::chrono::milliseconds kReachWithin{2000};  // for the spawner's dial

[[nodiscard]] std::string reach_question_text(const HostPort& address);
// Errors: kUsage.
[[nodiscard]] Result<HostPort> parse_reach_question(std::string_view body);
// why: empty where it was reached.
[[nodiscard]] std::string reach_answer_text(const std::string& why);
// Errors: kInvalidData.
[[nodiscard]] Result<std::string> parse_reach_answer(std::string_view body);

// The sentence of the node about itself, and that of the run about it.
[[nodiscard]] std::string not_reached_text(const HostPort& own, const std::string& why);
[[nodiscard]] std::string not_reached_text(const std::string& name, const HostPort& address);

// Remembers who is not reached now, by the name in its certificate and its address. Pure: time comes in.
class ReachBook {
 public:
  static constexpr Duration kForgetAfter = std::chrono::seconds(15);
  static constexpr std::size_t kEntriesMax = 256;

  void note(const std::string& name, const HostPort& address, bool is_reached, Instant now);
  // "; node2 is not reached at 10.0.0.2:7100: open ..."; empty when all are.
  [[nodiscard]] std::string explain(Instant now) const;

 private:
  std::map<std::pair<std::string, std::string>, Instant> unreached_;  // since the last question
};

// Answers the question. Thread-safe.
class ReachDesk {
 public:
  // Why an address is not reached; empty: it is. Called on connection threads, several at once; takes kReachWithin.
  using TryToReach = std::function<std::string(const HostPort&)>;
  explicit ReachDesk(TryToReach try_to_reach) : try_to_reach_(std::move(try_to_reach)) {}

  // 200; 400 malformed.
  [[nodiscard]] ControlResponse answer(const ControlRequest& request);
  // Explains as ReachBook does, now.
  [[nodiscard]] std::string explain() const;

 private:
  TryToReach try_to_reach_;
  mutable std::mutex mutex_;
  ReachBook book_;
};

// Dials an address as a link is dialled, shakes hands and leaves. Only that nobody is connected counts as not reached:
// a handshake may be slow.
[[nodiscard]] std::string why_not_reached(const HostPort& address, const TlsContext& context);

}  // namespace shoal
