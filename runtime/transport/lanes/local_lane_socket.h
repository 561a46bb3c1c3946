// A lane within one machine: what is written is the kernel's to copy, as it is.
//
// Nothing can be lost on the way, so there is no silence to judge: a process that ends closes its end, and one that
// stands still is judged by its heartbeats.
#pragma once

#include "runtime/transport/lanes/lane_socket.h"

namespace shoal {

class LocalLaneSocket final : public LaneSocket {
 public:
  explicit LocalLaneSocket(Socket socket);

  [[nodiscard]] Outcome read(std::span<char>& room) override;
  [[nodiscard]] Outcome write(std::span<const char>& bytes) override;
  [[nodiscard]] Outcome flush() override { return Outcome::kDone; }
  [[nodiscard]] std::uint64_t way() const override { return 0; }
  [[nodiscard]] bool is_local() const override { return true; }

 private:
  [[nodiscard]] Outcome verdict();
};

}  // namespace shoal
