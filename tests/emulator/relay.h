// One connection through the emulator: the socket of the dialling side, the socket of the other side, and a
// faulty pipe for each direction. What one side does, the other sees as the faults allow: bytes, an orderly end, a
// reset.
#pragma once

#include <poll.h>

#include <array>
#include <string>

#include "runtime/transport/sockets.h"
#include "tests/emulator/faulty_pipe.h"

namespace shoal {

// Names who dialled whom.
struct LinkEnds {
  std::string from;
  std::string to;
};

// Faults of both directions: [0] from the dialler, [1] to it.
using FaultsOfRelay = std::array<LinkFaults, 2>;

class Relay {
 public:
  Relay(Socket dialler, Socket dialled, LinkEnds ends, std::uint64_t seed);

  // Moves whatever can be moved by now.
  void work(const FaultsOfRelay& faults, Instant now);
  // Resets both sides.
  void reset();
  // Damages the next bytes of a direction.
  [[nodiscard]] FaultyPipe& pipe(std::size_t direction) { return pipes_[direction]; }
  [[nodiscard]] const FaultyPipe& pipe(std::size_t direction) const { return pipes_[direction]; }

  // Returns what poll() should wait for; a descriptor of -1 where nothing.
  [[nodiscard]] std::array<pollfd, 2> waits(const FaultsOfRelay& faults, Instant now) const;
  // Returns when there is something to do without any socket's word.
  [[nodiscard]] std::optional<Instant> next(const FaultsOfRelay& faults, Instant now) const;
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] const LinkEnds& ends() const { return ends_; }
  [[nodiscard]] std::uint64_t bytes_out(std::size_t direction) const { return bytes_out_[direction]; }

 private:
  struct Side {
    Socket socket;
    bool can_read = true;
    bool can_write = true;
  };

  void read(std::size_t direction, const FaultsOfRelay& faults, Instant now);
  void write(std::size_t direction, const FaultsOfRelay& faults, Instant now);
  void pass_on_end(std::size_t direction, const FaultsOfRelay& faults, Instant now);
  void broke(std::size_t side, const FaultsOfRelay& faults, Instant now);

  LinkEnds ends_;
  std::array<Side, 2> sides_;  // [d] is where direction d comes from
  std::array<FaultyPipe, 2> pipes_;
  std::array<StreamEnd, 2> passed_on_{StreamEnd::kNotYet, StreamEnd::kNotYet};
  std::array<std::uint64_t, 2> bytes_out_{};
  bool is_over_ = false;
};

}  // namespace shoal
