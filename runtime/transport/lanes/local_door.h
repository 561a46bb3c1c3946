// Local door, where processes of this machine and user come for their lanes: a socket of the system, in no network.
//
// The kernel copies the bytes and no other process sees them, so they need no cipher. The kernel says whose process is
// at the other end: both sides turn other users away, and a visitor must show a link's key all the same (S-7). The name
// is unguessable and abstract: no file, gone with its process, unknown in other network namespaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/transport/sockets.h"

namespace shoal {

class LocalDoor {
 public:
  // Nothing: this system has no such sockets.
  [[nodiscard]] static std::optional<LocalDoor> open();

  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  // kLocalDoorNameBytes long.
  [[nodiscard]] const std::string& name() const { return name_; }
  // A visitor of our user. Nothing: none is left; `was_refused`: another user's process came.
  struct Visit {
    std::optional<Socket> socket;
    bool was_refused = false;
  };
  [[nodiscard]] Visit accept() const;

 private:
  LocalDoor(Socket socket, std::string name) : socket_(std::move(socket)), name_(std::move(name)) {}

  Socket socket_;
  std::string name_;
};

// A connection to the door of this name. Errors: kUnreachable (no such door here), kRefused (of another user).
[[nodiscard]] Result<Socket> dial_local(const std::string& name);

}  // namespace shoal
