// Frames of the actor library's wire protocol, written by hand: those of an honest peer, and what becomes of them in
// the hands of a bad one. Bytes alone: nothing here knows the guard. tests/runtime/transport compares the honest ones
// with those that the library writes.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::guest {

// Header of such a frame: 32 bytes, network byte order.
struct FrameHead {
  std::uint8_t operation = 0;
  std::uint8_t flags = 0;
  std::uint64_t data = 0;
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
};
[[nodiscard]] std::string frame_of(const FrameHead& head, std::string_view payload);
[[nodiscard]] std::string big_endian(std::uint64_t value, std::size_t width);
// Writes a length as the library does: 7 bits a byte, lowest first.
[[nodiscard]] std::string length_of(std::uint64_t value);

// Names both sides of a conversation, as they call themselves.
struct Conversation {
  std::string self;  // 32 bytes
  std::string peer;
  std::uint64_t own_actor = 17;
  std::uint64_t peer_actor = 0;
};
// A name that no process has.
[[nodiscard]] std::string made_up_node(std::uint32_t process);

[[nodiscard]] std::string client_greeting(const Conversation& who, bool selects);
[[nodiscard]] std::string server_greeting(const Conversation& who);
[[nodiscard]] std::string letter_frame(const Conversation& who, std::string_view bytes);
[[nodiscard]] std::string monitor_frame(const Conversation& who);
[[nodiscard]] std::string down_frame(const Conversation& who);
[[nodiscard]] std::string heartbeat_frame();
[[nodiscard]] std::string info_question(const Conversation& who);
[[nodiscard]] std::string routed_frame(const Conversation& who);
// A direct message of other types.
[[nodiscard]] std::string message_frame(const Conversation& who, std::string_view types, std::string_view content);
// A direct message whose letter announces this many bytes, and has none of them: 83 bytes or so.
[[nodiscard]] std::string announcing_frame(const Conversation& who, std::uint64_t bytes);

// One bad frame after the other: every kind in turn, by the seed.
class BadFrames {
 public:
  explicit BadFrames(std::uint64_t seed) : random_(seed) {}
  static constexpr int kKinds = 14;

  [[nodiscard]] std::string next(const Conversation& who);
  [[nodiscard]] std::uint64_t made() const { return made_; }

 private:
  [[nodiscard]] std::string of_kind(int kind, const Conversation& who);
  [[nodiscard]] std::string flipped(std::string frame);
  [[nodiscard]] std::string relabelled(const Conversation& who);
  [[nodiscard]] std::string letter_of_frames(const Conversation& who);
  [[nodiscard]] std::string random_bytes(std::size_t count);
  [[nodiscard]] std::uint64_t some_length();

  std::mt19937_64 random_;
  std::uint64_t made_ = 0;
};

}  // namespace shoal::guest
