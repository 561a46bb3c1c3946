// The control endpoint: HTTPS with JSON for commands and for newcomers.
//
// Server-authenticated by the spawner's certificate; a client's certificate is optional and decides by its role what
// it may ask. A stranger reaches exactly the routes registered for strangers (enrolment), everything else answers 403
// (S-7). Sessions come from the process's port, once their first message has asked for this endpoint. They are bounded,
// each ends at a deadline, each has a thread of its own (S-6): those of strangers in all and per address, where the
// oldest gives way to the newcomer; those of the run, from the end of their handshake on, apart from them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/transport/admission.h"
#include "runtime/transport/control/http_message.h"
#include "runtime/transport/tls_socket.h"

namespace shoal {

struct ControlRequest {
  std::string method;
  std::string path;
  std::map<std::string, std::string> query;
  std::string body;
  std::optional<PeerIdentity> peer;  // empty: a stranger
  std::string serial;                // the peer certificate's
  std::string address;               // the client's, numeric
};

struct ControlResponse {
  int status = 200;
  std::string body = "{}";  // JSON
};
// Status of every answer to a client whose certificate was revoked.
inline constexpr int kStatusRevoked = 410;
// {"error": <sentence>}, the form of every answer that is not 200.
[[nodiscard]] ControlResponse control_error(int status, const std::string& sentence);

using ControlHandler = std::function<ControlResponse(const ControlRequest&)>;

// Lists the roles that may ask. An empty list admits every client, strangers included.
struct ControlRoute {
  std::string method;
  std::string path;
  std::vector<PeerRole> roles;
};

struct ControlLimits {
  AdmissionLimits admission;  // half open here: until the run's certificate was shown, or a stranger's answer was sent
  std::size_t known_count_max = 256;  // connections of the run's own nodes; operators always get in
  HttpLimits http;
  std::chrono::milliseconds serve_timeout{10000};  // for who comes before serve(); afterwards 503 is answered
  std::chrono::milliseconds request_timeout{10000};
  std::chrono::milliseconds response_timeout{10000};
};

class ControlServer {
 public:
  // Shakes hands from now on, but answers only after serve(): earlier clients wait for that. `policy` says which
  // certificates are good. Errors: kIo (the system gives no thread).
  [[nodiscard]] static Result<std::unique_ptr<ControlServer>> create(PeerPolicy policy,
                                                                     const ControlLimits& limits = {});
  // Stops.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Adds a handler, before serve() only. Handlers run on connection threads, several at once; they may wait, with a
  // time-out of their own. An exception is answered by 500 and logged.
  void handle(ControlRoute route, ControlHandler handler);
  void serve();
  // A session in the middle of its handshake. Any thread; never waits. After stop() it is closed.
  void take(TlsSocket session);
  // Ends every connection; returns when no handler runs any more. Idempotent.
  void stop();

  [[nodiscard]] std::uint64_t refused_count() const;
  // Connections of the run's own that are open: nodes and operators.
  [[nodiscard]] std::size_t known_count() const;

 private:
  struct State;
  explicit ControlServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shoal
