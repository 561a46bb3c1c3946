// Bytes that the library writes to a connection before its handshake is done: kept up to a bound, and then said as a
// whole (S-6).
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <thread>

#include "runtime/transport/tls_stream.h"
#include "tests/runtime/transport/stranger.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::early_bytes_test {
namespace {

using test_support::kPatience;
using test_support::TestRun;

constexpr std::size_t kEarlyBytesMax = 16U << 10U;  // as in tls_stream.cpp

// The accepted end of a connection, as the library would hold it, and the other end.
class EarlyBytes : public ::testing::Test {
 protected:
  EarlyBytes()
      : context(TlsContext::mutual(run.files(PeerRole::kSpawner, "spawner"), run.policy({PeerRole::kNode})).value()),
        door(std::make_shared<TlsDoor>(context, TransportLimits{})) {
    ENSURE(wait_readable(listener.descriptor(), deadline_in(kPatience)), "somebody has connected");
    accepted = Socket(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    ENSURE(accepted.is_open(), "a connection waits");
  }

  TestRun run{0x5eed};
  std::shared_ptr<const TlsContext> context;
  std::shared_ptr<TlsDoor> door;
  Socket listener = std::move(listen_on({"127.0.0.1", 0}).value());
  Socket client = test_support::connect_raw(local_port(listener.descriptor()));
  Socket accepted;
};

TlsStream::State write(TlsStream& stream, const Socket& socket, std::string_view bytes) {
  std::size_t count = 0;
  const auto state = stream.write_some(count, socket.descriptor(), bytes.data(), bytes.size());
  EXPECT_TRUE(state == TlsStream::State::failure || count == bytes.size());
  return state;
}

TEST_F(EarlyBytes, S6AreBounded) {
  TlsStream stream(door, accepted.descriptor(), TlsStream::Side::kServer);
  EXPECT_EQ(write(stream, accepted, std::string(kEarlyBytesMax - 1, 'a')), TlsStream::State::success);
  EXPECT_EQ(write(stream, accepted, "b"), TlsStream::State::success);
  EXPECT_EQ(write(stream, accepted, "c"), TlsStream::State::failure);
}

TEST_F(EarlyBytes, AreSaidWholeOnceTheHandshakeIsDone) {
  TlsStream stream(door, accepted.descriptor(), TlsStream::Side::kServer);
  const std::string said = std::string(kEarlyBytesMax - 3, 'a') + "end";
  ASSERT_EQ(write(stream, accepted, said), TlsStream::State::success);
  std::string heard;
  std::thread other([&] {
    const auto own = TlsContext::mutual(run.files(PeerRole::kNode, "node1"), run.policy({PeerRole::kSpawner}));
    auto tls = TlsSocket::connect(std::move(client), **own, deadline_in(kPatience), PortProtocol::kLink);
    char buffer[4096];
    while (tls.ok() && heard.size() < said.size()) {
      const auto count = tls->read_some(buffer, sizeof buffer, deadline_in(kPatience));
      if (!count.ok() || *count == 0) return;
      heard.append(buffer, *count);
    }
  });
  auto state = TlsStream::State::success;
  char buffer[64];
  for (std::size_t count = 0; state == TlsStream::State::success && door->counters().admitted == 0;) {
    if (!wait_readable(accepted.descriptor(), deadline_in(kPatience))) break;
    state = stream.read_some(count, accepted.descriptor(), buffer, sizeof buffer);
  }
  // The read that ends the handshake may meet the end of the connection, too: the client has all that it waited for.
  EXPECT_EQ(door->counters().admitted, 1U);
  if (door->counters().admitted == 0) ::shutdown(accepted.descriptor(), SHUT_RDWR);
  other.join();
  EXPECT_EQ(heard, said);
}

}  // namespace
}  // namespace shoal::early_bytes_test
