// A TLS session past its handshake, on a descriptor of its own.
//
// Records of several writes go to the system together, and reads take what the system has: a letter of some hundred
// kilobytes costs a few system calls instead of three per record of 16 KiB.
#pragma once

#include <chrono>

#include "runtime/transport/lanes/lane_socket.h"

struct ssl_st;

namespace shoal {

class TlsLaneSocket final : public LaneSocket {
 public:
  // Takes over the session, which is told of the descriptor. Sent bytes that stay unacknowledged for so long break
  // the connection.
  TlsLaneSocket(Socket socket, ssl_st* session, std::chrono::milliseconds silence_max);
  ~TlsLaneSocket() override;

  [[nodiscard]] Outcome read(std::span<char>& room) override;
  [[nodiscard]] Outcome write(std::span<const char>& bytes) override;
  [[nodiscard]] Outcome flush() override;
  [[nodiscard]] std::uint64_t way() const override;
  [[nodiscard]] bool is_local() const override { return false; }

 private:
  [[nodiscard]] Outcome verdict(int result);

  ssl_st* session_;
};

}  // namespace shoal
