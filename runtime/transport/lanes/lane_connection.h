// One lane as its thread sees it: a claim first (lane_greeting.h), then frames in and frames out, a little at a time.
// Its caller makes it go on and gets what came and why it ended; it tells nobody by itself.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/transport/assembly.h"
#include "runtime/transport/lanes/frame_reader.h"
#include "runtime/transport/lanes/lane_greeting.h"
#include "runtime/transport/lanes/lane_limits.h"
#include "runtime/transport/lanes/lane_socket.h"
#include "runtime/transport/lanes/outbox.h"
#include "runtime/transport/lanes/rate_bucket.h"

namespace shoal {

class LaneConnection {
 public:
  LaneConnection(std::unique_ptr<LaneSocket> socket, const LaneLimits& limits, Instant now)
      : socket_(std::move(socket)),
        began_(now),
        unread_bytes_max_(limits.unread_bytes_max),
        assembler_(limits.assembly) {}

  // Makes it this link's: it sends what is put into the box. A peer that has shown a key is told so first.
  void bind(LinkId link, std::shared_ptr<Outbox> outbox);
  // Tells a peer that has shown a key to come to the local door of this name, or to claim again.
  void refer_to(const std::string& door);
  [[nodiscard]] bool was_referred() const { return was_referred_; }
  // Returns the way of an accepted connection (LaneSocket::way()). 0: not known, or of no matter.
  [[nodiscard]] std::uint64_t way() const { return socket_->way(); }
  [[nodiscard]] bool is_local() const { return socket_->is_local(); }
  [[nodiscard]] const std::optional<LinkId>& link() const { return link_; }
  [[nodiscard]] Instant began() const { return began_; }
  [[nodiscard]] int descriptor() const { return socket_->descriptor(); }

  // The system or the user has something for it.
  void is_readable() { may_read_ = true; }
  void is_writable() { may_write_ = true; }
  void has_output() { has_output_ = true; }
  [[nodiscard]] bool can_read() const { return may_read_ && !is_ahead(); }
  [[nodiscard]] bool can_write() const { return may_write_ && has_output_; }
  // More was delivered than its user has looked at: it is not read until that has changed. Nobody tells when.
  [[nodiscard]] bool is_ahead() const { return *unread_bytes_ >= unread_bytes_max_; }
  // Makes the receipt of a letter that is delivered now: the letter counts as unread until the receipt is destroyed.
  [[nodiscard]] std::shared_ptr<const void> receipt_for(std::size_t bytes);
  // True after an orderly end by a peer that knew of this lane. A peer that claimed it may give up before it reads the
  // answer; its first frame shows that it has read it.
  [[nodiscard]] bool was_ended_by_peer() const { return socket_->was_closed_by_peer() && is_known_to_peer_; }

  // Result of a turn of reading; a turn ends early with each.
  struct Heard {
    std::optional<LaneClaim> claim;
    std::optional<Assembled> letter;
    std::optional<Arriving> arriving;  // part of one that takes its time
    std::string broken;                // why the connection is over
  };
  // down: bounds what is read; what comes too fast waits in the system's buffers, and so at the sender.
  [[nodiscard]] Heard read(Instant now, RateBucket& down);

  struct Said {
    bool has_room_again = false;
    std::string broken;
  };
  [[nodiscard]] Said write(Instant now, RateBucket& up);

 private:
  [[nodiscard]] Heard read_claim();
  // Hands all to the system; says whether that can be, and leaves has_output_ as it is.
  [[nodiscard]] bool flush(Said& said);
  // False: there is nothing to send.
  [[nodiscard]] bool fill(Said& said);

  void say(const std::string& bytes);

  std::unique_ptr<LaneSocket> socket_;
  std::optional<LinkId> link_;
  Instant began_;
  bool may_read_ = true;
  bool may_write_ = true;
  bool has_output_ = false;
  std::size_t unread_bytes_max_;
  std::shared_ptr<std::atomic<std::size_t>> unread_bytes_ = std::make_shared<std::atomic<std::size_t>>(0);

  std::array<char, kLaneClaimBytes> claim_{};
  std::size_t claimed_bytes_ = 0;
  bool was_referred_ = false;
  bool is_known_to_peer_ = true;
  FrameReader reader_;
  Assembler assembler_;

  std::shared_ptr<Outbox> outbox_;
  std::optional<Cutter> cutter_;
  std::uint64_t transfers_ = 0;
  std::vector<char> frame_;
  std::span<const char> unsent_;  // the rest of frame_
};

}  // namespace shoal
