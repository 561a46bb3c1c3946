// One lane under a bounded rate, on a clock of the test: bytes go, and are read, at the rate on average, and arrive.
#include "runtime/transport/lanes/lane_connection.h"

#include <sys/socket.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "runtime/transport/lanes/local_lane_socket.h"

namespace shoal::lane_connection_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLetterBytes = 2'000'000;
constexpr std::uint64_t kBitPerSecond = 8'000'000;  // two seconds for a letter

struct Pair {
  Pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    from.emplace(std::make_unique<LocalLaneSocket>(Socket(ends[0])), LaneLimits{}, now);
    to.emplace(std::make_unique<LocalLaneSocket>(Socket(ends[1])), LaneLimits{}, now);
    from->bind(LinkId{1}, outbox);
    to->bind(LinkId{2}, std::make_shared<Outbox>(1));
  }

  // Virtual seconds until a letter is whole.
  double time_to_pass(RateBucket up, RateBucket down) {
    auto buffer = std::make_shared<AlignedBuffer>(kLetterBytes);
    for (std::size_t i = 0; i < kLetterBytes; ++i) buffer->data()[i] = static_cast<std::byte>(i * 7);
    EXPECT_EQ(outbox->put(EncodedLetter{{'L'}, {buffer}}).outcome, LaneOutcome::kTaken);
    from->has_output();
    const Instant began = now;
    for (; now < began + 1min; now += 5ms) {
      from->is_writable();
      to->is_readable();
      EXPECT_EQ(from->write(now, up).broken, "");
      const LaneConnection::Heard heard = to->read(now, down);
      EXPECT_EQ(heard.broken, "");
      if (!heard.letter) continue;
      EXPECT_TRUE(std::ranges::equal(std::span(heard.letter->buffers.at(0)->data(), kLetterBytes),
                                     std::span(buffer->data(), kLetterBytes)));
      break;
    }
    return std::chrono::duration<double>(now - began).count();
  }

  Instant now = Instant{} + 1h;
  std::shared_ptr<Outbox> outbox = std::make_shared<Outbox>(std::size_t{64} << 20);
  std::optional<LaneConnection> from, to;
};

TEST(LaneConnection, SendsAtItsRate) {
  const double seconds = Pair().time_to_pass(RateBucket(kBitPerSecond), RateBucket(0));
  EXPECT_GE(seconds, 1.8) << "a short burst and the last frame are free";
  EXPECT_LE(seconds, 2.1) << "and the rate is used";
}

TEST(LaneConnection, ReadsAtItsRate) {
  const double seconds = Pair().time_to_pass(RateBucket(0), RateBucket(kBitPerSecond));
  EXPECT_GE(seconds, 1.8);
  EXPECT_LE(seconds, 2.1);
}

TEST(LaneConnection, WithoutALimitNothingWaits) {
  EXPECT_LE(Pair().time_to_pass(RateBucket(0), RateBucket(0)), 0.5) << "the control";
}

}  // namespace
}  // namespace shoal::lane_connection_test
