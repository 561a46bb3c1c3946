// The one port of a spawner process, in this process: links and lanes of an actor system, and a control endpoint that
// tests give routes to.
#pragma once

#include <memory>

#include "runtime/transport/control/control_server.h"
#include "tests/runtime/transport/caf_process.h"

namespace shoal::test_support {

class ControlPort {
 public:
  ControlPort(const TlsFiles& files, PeerPolicy policy, const ControlLimits& limits = {});

  // Has what comes to the port until it is destroyed.
  [[nodiscard]] const std::shared_ptr<ControlServer>& server() const { return server_; }
  // Ends the server: nobody answers for the endpoint any more; the port goes on listening.
  void end_server() { server_.reset(); }
  [[nodiscard]] CafProcess& process() { return process_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Connections that were refused before or after they asked for the endpoint.
  [[nodiscard]] std::uint64_t refused_count() {
    return server_->refused_count() + process_.transport().counters().refused;
  }

 private:
  CafProcess process_;
  std::shared_ptr<ControlServer> server_;
  std::uint16_t port_;
};

}  // namespace shoal::test_support
