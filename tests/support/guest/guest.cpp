// Sockets are non-blocking, every wait has its deadline.
#include "tests/support/guest/guest.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <csignal>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/transport/openssl_handles.h"
#include "runtime/transport/tls_context.h"

namespace shoal::guest {
namespace {

constexpr std::size_t kHeadBytes = 32;
constexpr std::size_t kNodeBytes = 32;
constexpr std::chrono::milliseconds kListens{2};      // after a frame, for the end of its connection
constexpr std::uint64_t kFramesPerConnectionMax = 4;  // one whose length was a lie swallows those behind it

// Made once for each certificate: reading it anew would cost the attacker, not who is attacked.
using Context = std::shared_ptr<SSL_CTX>;
Context context_with(const TlsFiles& files) {
  static std::mutex mutex;
  static std::map<std::string, Context> made;
  const std::lock_guard guard(mutex);
  Context& context = made[files.certificate];
  if (context) return context;
  context = Context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  ENSURE(SSL_CTX_use_certificate_file(context.get(), files.certificate.c_str(), SSL_FILETYPE_PEM) == 1, "readable");
  ENSURE(SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) == 1, "readable");
  return context;
}

std::uint64_t number_in(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8U | static_cast<std::uint8_t>(byte);
  return value;
}

}  // namespace

struct Guest::Session {
  Context context;
  Socket socket;
  Owned<SSL> tls;

  // Repeats one call of OpenSSL's. Returns more than 0; 0 when the deadline has passed; -1 when the connection is over.
  template <class Call>
  int drive(Deadline deadline, Call call) {
    for (;;) {
      ERR_clear_error();
      const int result = call();
      if (result > 0) return result;
      const int reason = SSL_get_error(tls.get(), result);
      if (reason == SSL_ERROR_WANT_READ) {
        if (!wait_readable(socket.descriptor(), deadline)) return 0;
      } else if (reason == SSL_ERROR_WANT_WRITE) {
        if (!wait_writable(socket.descriptor(), deadline)) return 0;
      } else {
        return -1;
      }
    }
  }
  std::optional<std::string> read(std::size_t count, Deadline deadline) {
    std::string bytes(count, '\0');
    for (std::size_t have = 0; have < count;) {
      const int got =
          drive(deadline, [&] { return SSL_read(tls.get(), bytes.data() + have, static_cast<int>(count - have)); });
      if (got <= 0) return std::nullopt;
      have += static_cast<std::size_t>(got);
    }
    return bytes;
  }
};

Guest::Guest(std::unique_ptr<Session> session) : session_(std::move(session)) {}
Guest::~Guest() = default;
Guest::Guest(Guest&&) noexcept = default;
Guest& Guest::operator=(Guest&&) noexcept = default;

std::optional<Guest> Guest::enter(const HostPort& address, const TlsFiles& files, std::chrono::milliseconds patience) {
  std::signal(SIGPIPE, SIG_IGN);  // being turned out is the end of a write, not of the program
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  auto socket = dial(address, deadline);
  if (!socket.ok()) return std::nullopt;
  auto session = std::make_unique<Session>();
  session->context = context_with(files);
  session->socket = std::move(*socket);
  session->tls = Owned<SSL>(SSL_new(session->context.get()));
  SSL_set_fd(session->tls.get(), session->socket.descriptor());
  SSL_set_connect_state(session->tls.get());
  ask_for(session->tls.get(), PortProtocol::kLink);
  Session& open = *session;
  if (open.drive(deadline, [&open] { return SSL_do_handshake(open.tls.get()); }) <= 0) return std::nullopt;
  const auto head = open.read(kHeadBytes, deadline);
  if (!head) return std::nullopt;
  const auto greeting = open.read(number_in(std::string_view(*head).substr(4, 4)), deadline);
  if (!greeting || greeting->size() < kNodeBytes + 8) return std::nullopt;
  Guest bad(std::move(session));
  bad.who_.self = made_up_node(1);
  bad.who_.peer = greeting->substr(0, kNodeBytes);
  const std::size_t names = kNodeBytes + 2 + static_cast<std::uint8_t>((*greeting)[kNodeBytes + 1]);
  bad.who_.peer_actor = number_in(std::string_view(*greeting).substr(names, 8));
  return bad;
}

bool Guest::greet() { return say(client_greeting(who_, false)) && say(client_greeting(who_, true)); }

bool Guest::say(std::string_view bytes) {
  constexpr std::chrono::seconds kPatience{5};
  const Deadline deadline = std::chrono::steady_clock::now() + kPatience;
  while (!bytes.empty()) {
    const int size = static_cast<int>(bytes.size());
    const int count = session_->drive(deadline, [&] { return SSL_write(session_->tls.get(), bytes.data(), size); });
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool Guest::is_turned_out(std::chrono::milliseconds patience) {
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  char buffer[4096];
  for (;;) {
    const int count = session_->drive(deadline, [&] { return SSL_read(session_->tls.get(), buffer, sizeof buffer); });
    if (count <= 0) return count < 0;
  }
}

AttackReport attack(const AttackOrder& order, const std::function<bool()>& is_over) {
  AttackReport report;
  BadFrames frames(order.seed);
  std::optional<Guest> bad;
  std::uint32_t process = 1;
  const auto began = std::chrono::steady_clock::now();
  while (report.said < order.frames && !is_over()) {
    if (order.frames_per_second > 0) {
      const std::chrono::duration<double> due(static_cast<double>(report.said) / order.frames_per_second);
      const auto wait = began + due - std::chrono::steady_clock::now();
      const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
      if (wait_ms > 0) ::poll(nullptr, 0, static_cast<int>(wait_ms));
    }
    if (!bad) {
      bad = Guest::enter(order.address, order.files, order.patience);
      ++(bad ? report.connections : report.turned_away);
      if (!bad) {
        ++report.said;  // the door that it came to was closed: so was the frame's
        continue;
      }
      bad->call_itself(made_up_node(++process));
      if (report.said % 3 != 0) (void)bad->greet();  // and at times it does not even greet
    }
    ++report.said;
    const bool is_spent = !bad->say(frames.next(bad->who())) || bad->is_turned_out(kListens) ||
                          report.said % kFramesPerConnectionMax == 0;
    if (is_spent) bad.reset();
  }
  return report;
}

}  // namespace shoal::guest
