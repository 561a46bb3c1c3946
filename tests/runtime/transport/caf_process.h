// One process of a run, in this process: an actor system with its transport and an actor that asks and answers. Like a
// router it is the one actor that speaks with others, and what it says is frames of letters; here they are texts:
//
//   ?<number> <text>      the answer: =<number> heard <text>
//
// Destroying it is what the end of a process is to its peers: connections close, monitors fire.
#pragma once

#include <caf/all.hpp>
#include <caf/io/middleman.hpp>
#include <memory>
#include <string>

#include "runtime/transport/tls_transport.h"

namespace shoal::test_support {

class CafProcess {
 public:
  CafProcess(const TlsFiles& files, PeerPolicy policy, const TransportLimits& limits = {});
  ~CafProcess();
  CafProcess(const CafProcess&) = delete;
  CafProcess& operator=(const CafProcess&) = delete;

  [[nodiscard]] TlsTransport& transport() { return *transport_; }
  [[nodiscard]] caf::actor_system& system() { return *system_; }
  [[nodiscard]] const caf::actor& speaker() const { return speaker_; }
  // Publishes the speaker on a free port of the loopback.
  [[nodiscard]] std::uint16_t publish();
  // The published actor of another process; null when the connection is refused or does not come about.
  [[nodiscard]] caf::strong_actor_ptr connect(std::uint16_t port);
  // Returns what `actor` makes of a text, or "<no answer>".
  [[nodiscard]] std::string ask(const caf::strong_actor_ptr& actor, const std::string& text);
  // True when a down message of `actor` comes after `cause` was run.
  template <class Cause>
  [[nodiscard]] bool sees_down_after(const caf::strong_actor_ptr& actor, Cause cause);

 private:
  struct Config : caf::actor_system_config {
    Config();
  };
  Config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<TlsTransport> transport_;
  caf::actor speaker_;
};

template <class Cause>
bool CafProcess::sees_down_after(const caf::strong_actor_ptr& actor, Cause cause) {
  caf::scoped_actor self{*system_};
  self->monitor(caf::actor_cast<caf::actor>(actor));
  cause();
  bool was_seen = false;
  self->receive([&](const caf::down_msg&) { was_seen = true; }, caf::after(std::chrono::seconds(10)) >> [] {});
  return was_seen;
}

}  // namespace shoal::test_support
