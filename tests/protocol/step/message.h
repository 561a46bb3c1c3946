// The messages between actors of the model: one number per message, so that a state can hold a set of them.
//
// A message names what its rule needs and nothing else: no values, no attempts, no paths. A gradient is one bit: it was
// computed with the weights of its step, or with others (`is_stale`).
#pragma once

#include <cstdint>

namespace shoal::protocol {

enum class Kind : std::uint8_t {
  kForward = 1,
  kReply,  // a Backward: the answer to a Forward
  kAllAnswered,
  kMissing,
  kPrepare,
  kManifest,
  kReduce,
  kPart,  // a member's whole contribution to a sum
  kReduced,
  kOpen,
  kZero,
  kVote,  // Prepared
  kRefusal,
  kAskHolders,
  kHolders,
};

struct MessageFields {
  int from = 0;  // a replica, the data loader, or the stage of a group
  int to = 0;
  int step = 0;
  int epoch = 0;
  int payload = 0;
};

class Message {
 public:
  constexpr Message() = default;
  explicit constexpr Message(std::uint32_t bits) : bits_(bits) {}
  constexpr Message(Kind kind, const MessageFields& fields)
      : bits_(static_cast<std::uint32_t>(kind) << 27 | static_cast<std::uint32_t>(fields.from) << 23 |
              static_cast<std::uint32_t>(fields.to) << 19 | static_cast<std::uint32_t>(fields.step) << 17 |
              static_cast<std::uint32_t>(fields.epoch) << 10 | static_cast<std::uint32_t>(fields.payload)) {}

  [[nodiscard]] constexpr Kind kind() const { return static_cast<Kind>(bits_ >> 27); }
  [[nodiscard]] constexpr int from() const { return static_cast<int>(bits_ >> 23 & 15); }
  [[nodiscard]] constexpr int stage() const { return from(); }  // of what a group says
  [[nodiscard]] constexpr int to() const { return static_cast<int>(bits_ >> 19 & 15); }
  [[nodiscard]] constexpr int step() const { return static_cast<int>(bits_ >> 17 & 3); }
  [[nodiscard]] constexpr int epoch() const { return static_cast<int>(bits_ >> 10 & 127); }
  [[nodiscard]] constexpr int payload() const { return static_cast<int>(bits_ & 1023); }
  [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }

  // Forward, Reply, Refusal, Missing.
  [[nodiscard]] constexpr int microbatch() const { return payload() & 1; }
  [[nodiscard]] constexpr bool is_stale() const { return (payload() & 2) != 0; }
  [[nodiscard]] constexpr int next() const { return payload() >> 2 & 3; }
  [[nodiscard]] constexpr int after_next() const { return payload() >> 4 & 3; }
  // Manifest: one bit per microbatch.
  [[nodiscard]] constexpr int microbatches() const { return payload() & 3; }
  // Prepare: the counter of the step's last Zero by this group, 0: none (P-16b).
  [[nodiscard]] constexpr int last_zero() const { return payload(); }
  // Part: how often each microbatch is in it.
  [[nodiscard]] constexpr int count(int microbatch) const { return payload() >> (2 * microbatch) & 3; }
  [[nodiscard]] constexpr bool is_stale_part() const { return (payload() & 16) != 0; }
  // Reduce: one bit per replica of the stage. Vote: the same, and the position where its epoch began.
  [[nodiscard]] constexpr int reduced_members() const { return payload() & 7; }
  [[nodiscard]] constexpr int voting_members() const { return payload() >> 4 & 7; }
  [[nodiscard]] constexpr int position() const { return payload() & 15; }

  friend constexpr auto operator<=>(const Message&, const Message&) = default;

 private:
  std::uint32_t bits_ = 0;
};

inline constexpr int kAnyNext = 3;  // a path whose next hop is free

struct Data {
  int step = 0;
  int microbatch = 0;
  bool is_stale = false;
  int next = kAnyNext;  // of a Forward: the replicas of the next stages that are on its path
  int after_next = kAnyNext;
};

[[nodiscard]] constexpr Message forward(int from, int to, const Data& data) {
  return {Kind::kForward,
          {from, to, data.step, 0, data.microbatch | int{data.is_stale} << 1 | data.next << 2 | data.after_next << 4}};
}
[[nodiscard]] constexpr Message reply(int from, int to, const Data& data) {
  return {Kind::kReply, {from, to, data.step, 0, data.microbatch | int{data.is_stale} << 1}};
}
[[nodiscard]] constexpr Message refusal(int from, int to, const Data& data) {
  return {Kind::kRefusal, {from, to, data.step, 0, data.microbatch}};
}
[[nodiscard]] constexpr Message ask_holders(int stage, int step) { return {Kind::kAskHolders, {stage, 0, step, 0, 0}}; }
[[nodiscard]] constexpr Message holders(int stage, int step, int map) {
  return {Kind::kHolders, {stage, 0, step, 0, map}};
}
[[nodiscard]] constexpr Message all_answered(int step) { return {Kind::kAllAnswered, {0, 0, step, 0, 0}}; }
[[nodiscard]] constexpr Message missing(int stage, int step, int microbatch) {
  return {Kind::kMissing, {stage, 0, step, 0, microbatch}};
}
[[nodiscard]] constexpr Message manifest(int member, int step, int epoch, int microbatches) {
  return {Kind::kManifest, {member, 0, step, epoch, microbatches}};
}
[[nodiscard]] constexpr Message reduced(int member, int step, int epoch) {
  return {Kind::kReduced, {member, 0, step, epoch, 0}};
}

}  // namespace shoal::protocol
