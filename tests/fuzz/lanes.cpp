// One lane's stream of bytes: claim or answer, frames, letters in them.
//
//   input = options:u8  stream       options: 1 frames get their right checksum; 2 this side has dialled, so that the
//                                    stream begins with an answer; 4 and 8: how many bytes come at once
//
// The connection is the product's, on a socket in memory. A peer can make it hold no more than the limits given.
#include <algorithm>
#include <cstring>

#include <xxhash.h>

#include "runtime/base/ensure.h"
#include "runtime/transport/lanes/lane_connection.h"
#include "tests/fuzz/harness.h"
#include "tests/messages/samples.h"

namespace shoal::fuzz {
namespace lanes {
namespace {

constexpr std::uint8_t kSealed = 1;
constexpr std::uint8_t kDialled = 2;
constexpr std::size_t kBytesAtOnce[] = {1, 7, 64, std::size_t{1} << 20};

// Gives what it has, so many bytes at once, and takes everything.
class MemorySocket final : public LaneSocket {
 public:
  MemorySocket(std::string_view stream, std::size_t bytes_at_once)
      : LaneSocket(Socket()), stream_(stream), bytes_at_once_(bytes_at_once) {}

  Outcome read(std::span<char>& room) override {
    do {
      const std::size_t count = std::min({room.size(), stream_.size(), bytes_at_once_});
      std::memcpy(room.data(), stream_.data(), count);
      stream_.remove_prefix(count);
      room = room.subspan(count);
      if (room.empty()) return Outcome::kDone;
    } while (!stream_.empty());
    reason_ = "the stream is over";
    return Outcome::kClosed;
  }
  Outcome write(std::span<const char>& bytes) override {
    bytes = {};
    return Outcome::kDone;
  }
  Outcome flush() override { return Outcome::kDone; }
  [[nodiscard]] std::uint64_t way() const override { return 1; }
  [[nodiscard]] bool is_local() const override { return false; }

 private:
  std::string_view stream_;
  std::size_t bytes_at_once_;
};

// Puts the right checksum into every whole frame, as a peer that means harm would.
void seal(std::string& stream, std::size_t at) {
  while (stream.size() - at > kFrameHeaderBytes) {
    const std::uint64_t size = kFrameHeaderBytes + payload_size_in(std::span(stream).subspan(at));
    if (size > stream.size() - at) return;
    const auto sum = static_cast<std::uint32_t>(XXH3_64bits(stream.data() + at + 4, size - 4));
    std::string bytes;
    append_number(bytes, sum, 4);
    stream.replace(at, 4, bytes);
    at += size;
  }
}

AssemblyLimits small_limits() { return {std::size_t{1} << 20, std::size_t{4} << 20, 16, 4, std::size_t{8} << 20}; }

// Answers a claim as the lanes' thread does. A second one after a referral, or one of way 0, makes it a lane.
void answer(LaneConnection& lane, const LaneClaim& claim, const std::shared_ptr<Outbox>& outbox) {
  ENSURE(claim_in(std::span<const char, kLaneClaimBytes>(encoded(claim).data(), kLaneClaimBytes)) == claim,
         "a claim comes back as it was");
  if (claim.way == lane.way() && !lane.was_referred()) return lane.refer_to(std::string(kLocalDoorNameBytes, 'd'));
  lane.bind(LinkId{1}, outbox);
}

// True when any letter came through. Each read takes so long that what is on its way is news.
bool has_letter(LaneConnection& lane, const std::shared_ptr<Outbox>& outbox) {
  bool has_any = false;
  RateBucket unbounded(0);
  for (Instant now;; now += Assembler::kNewsEvery) {
    const LaneConnection::Heard heard = lane.read(now, unbounded);
    if (heard.claim) answer(lane, *heard.claim, outbox);
    if (heard.arriving) (void)decode(heard.arriving->letter.bytes, heard.arriving->letter.buffers);
    if (heard.letter) has_any |= decode(heard.letter->letter, heard.letter->buffers).value.has_value();
    ENSURE(lane.write(now, unbounded).broken.empty(), "the socket takes everything");
    if (!heard.broken.empty()) return has_any;
  }
}

bool accepts(std::string_view input) {
  Cursor cursor(input);
  const std::uint8_t options = cursor.byte();
  const bool is_dialled = (options & kDialled) != 0;
  std::string stream(cursor.rest());
  std::string_view unread = stream;
  if (is_dialled) {
    std::array<char, kLaneAnswerBytes> greeting{};
    unread.copy(greeting.data(), greeting.size());
    ENSURE(encoded(answer_in(greeting)) == std::string_view(greeting.data(), greeting.size()), "an answer comes back");
  }
  const std::size_t greeting = std::min(stream.size(), is_dialled ? kLaneAnswerBytes : kLaneClaimBytes);
  if ((options & kSealed) != 0) seal(stream, greeting);
  unread = stream;
  if (is_dialled) unread.remove_prefix(greeting);
  LaneLimits limits;
  limits.assembly = small_limits();
  LaneConnection lane(std::make_unique<MemorySocket>(unread, kBytesAtOnce[options / 4 % 4]), limits, Instant());
  const auto outbox = std::make_shared<Outbox>(1);
  if (is_dialled) lane.bind(LinkId{1}, outbox);
  return has_letter(lane, outbox);
}

std::string stream_of(std::uint8_t options, const std::vector<MessageBody>& bodies) {
  std::string input;
  append_number(input, options, 1);
  input += (options & kDialled) != 0 ? encoded(LaneAnswer{5, {}}) : encoded(LaneClaim{5, 0});
  std::uint64_t transfers = 0;
  for (const MessageBody& body : bodies) {
    EncodedLetter letter = encode(Letter{ProcessIncarnation{7}, {}, body});
    Cutter cutter(std::move(letter), ++transfers, 512);
    for (std::vector<char> frame; !cutter.is_done();) {
      cutter.next(frame);
      input.append(frame.data(), frame.size());
    }
  }
  return input;
}

std::vector<std::string> samples() {
  std::mt19937_64 random(2);
  const std::vector<MessageBody> bodies = samples::every_body(random);
  std::vector<std::string> inputs;
  for (std::uint8_t options = 0; options < 16; ++options) {
    inputs.push_back(stream_of(options | kSealed, {bodies[options], bodies[options + 1U]}));
  }
  return inputs;
}

}  // namespace
}  // namespace lanes

const Harness kLanes{"lanes", lanes::samples, lanes::accepts};

}  // namespace shoal::fuzz
