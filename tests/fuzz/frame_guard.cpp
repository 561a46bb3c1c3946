// The frame guard, and behind it the actor library's reader of frames: what the guard lets through must not harm it.
//
//   input = options:u8  stream       options: 1 this side has dialled; 2 the peer has greeted before the stream begins
//
// The library runs as in a process of ours, with its test network: its broker is given each frame that the guard
// delivers, as the TLS connection gives it (tls_middleman.cpp). @THIS NODE... stands for how it names its process,
// whose number is another at every start.
#include "runtime/transport/guard/frame_guard.h"

#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/test_multiplexer.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <algorithm>

#include "messages/actor_types.h"
#include "runtime/base/ensure.h"
#include "runtime/transport/caf_config.h"
#include "tests/fuzz/harness.h"

namespace shoal::fuzz {
namespace frame_guard {
namespace {

namespace io = caf::io;
using Verdict = FrameGuard::Verdict;

constexpr std::uint8_t kDialled = 1;
constexpr std::uint8_t kGreeted = 2;
constexpr std::uint32_t kFrameBytesMax = 1U << 20;
constexpr std::uint16_t kPort = 7000;
const auto kConnection = io::connection_handle::from_int(1);

struct Config : caf::actor_system_config {
  Config() {
    configure_caf(*this, {});
    add_message_types<caf::id_block::shoal>();
    set("scheduler.policy", caf::atom("testing"));
    set("middleman.network-backend", caf::atom("testing"));
    set("middleman.heartbeat-interval", caf::timespan(0));
  }
};

// The library's part of a process, in one thread and without a clock.
class Library {
 public:
  Library()
      : system_(config_),
        network_(dynamic_cast<io::network::test_multiplexer&>(system_.middleman().backend())),
        scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())),
        broker_(system_.middleman().named_broker<io::basp_broker>(caf::atom("BASP"))),
        router_(system_.spawn([this](caf::event_based_actor* self) -> caf::behavior {
          self->set_default_handler(caf::drop);
          return {[this](const WireFrame& frame) { letters_ += frame.bytes.empty() ? 0 : 1; }};
        })) {
    drain();
  }

  [[nodiscard]] std::string this_node() {
    return written([this](caf::serializer& sink) { return sink(node()); });
  }
  [[nodiscard]] std::uint64_t router_id() const { return router_.id(); }
  [[nodiscard]] const caf::node_id& node() { return system_.node(); }

  // The bytes of one frame, as the library writes it.
  template <class Write>
  [[nodiscard]] std::string frame(io::basp::header header, Write write) {
    std::vector<char> bytes;
    auto writer = caf::make_callback(write);
    io::basp::instance::write(&network_, bytes, header, &writer);
    return {bytes.begin(), bytes.end()};
  }
  template <class Write>
  [[nodiscard]] std::string written(Write write) {
    std::vector<char> bytes;
    caf::binary_serializer sink{&network_, bytes};
    ENSURE(!write(sink), "the library writes what is its own");
    return {bytes.begin(), bytes.end()};
  }

  void open(bool is_dialled) {
    auto scribe = network_.new_scribe(kConnection);
    scribe_ = scribe;
    if (is_dialled) {
      caf::anon_send(broker_, caf::connect_atom_v, std::move(scribe), kPort);
    } else {
      caf::anon_send(broker_, caf::publish_atom_v, std::move(scribe), kPort,
                     caf::actor_cast<caf::strong_actor_ptr>(router_), std::set<std::string>{});
    }
    drain();
  }
  [[nodiscard]] std::size_t wants() { return network_.read_config(kConnection).second; }
  [[nodiscard]] bool is_open() { return !scribe_->detached(); }
  void give(std::string_view bytes) {
    network_.input_buffer(kConnection).assign(bytes.begin(), bytes.end());
    (void)scribe_->consume(&network_, bytes.data(), bytes.size());
    drain();
  }
  // Letters that came since the connection was opened.
  std::uint64_t close() {
    scribe_->io_failure(&network_, io::network::operation::read);
    drain();
    network_.output_buffer(kConnection).clear();
    return std::exchange(letters_, 0);
  }

 private:
  void drain() {
    do {
      network_.flush_runnables();
    } while (scheduler_.try_run_once());
  }

  std::uint64_t letters_ = 0;
  Config config_;
  caf::actor_system system_;
  io::network::test_multiplexer& network_;
  caf::scheduler::test_coordinator& scheduler_;
  caf::actor broker_;
  caf::actor router_;
  io::scribe_ptr scribe_;
};

Library& library() {
  static auto* const kLibrary = new Library();  // an actor system waits for its actors, and they live as long as this
  return *kLibrary;
}

const std::string& this_node() {
  static const std::string kBytes = library().this_node();
  return kBytes;
}

// A text as long as how a node is written.
const std::string& word_for_this_node() {
  static const std::string kWord = [] {
    std::string word = "@THIS NODE";
    word.resize(this_node().size(), '@');
    return word;
  }();
  return kWord;
}

void replace_all(std::string& text, std::string_view word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
}

caf::node_id peer_node() { return *caf::make_node_id(4711, "00112233445566778899aabbccddeeff00112233"); }

io::basp::header header_of(io::basp::message_type operation, std::uint64_t source, std::uint64_t destination) {
  return {operation, 0, 0, 0, source, destination};
}

std::string server_greeting() {
  auto header = header_of(io::basp::message_type::server_handshake, 0, 0);
  header.operation_data = io::basp::version;
  return library().frame(header, [](caf::serializer& sink) {
    const std::vector<std::string> applications{"generic-caf-app"};
    return sink(peer_node(), applications, caf::actor_id{9}, std::set<std::string>{});
  });
}

std::string client_greeting() {
  return library().frame(header_of(io::basp::message_type::client_handshake, 0, 0),
                         [](caf::serializer& sink) { return sink(peer_node()); });
}

std::string letter_frame(std::size_t size) {
  auto header = header_of(io::basp::message_type::direct_message, 9, library().router_id());
  header.operation_data = caf::make_message_id().integer_value();
  return library().frame(header, [size](caf::serializer& sink) {
    const std::vector<caf::strong_actor_ptr> stages;
    return sink(stages, caf::make_message(WireFrame{std::vector<char>(size, 'x')}));
  });
}

std::string monitor_frame() {
  const auto header = header_of(io::basp::message_type::monitor_message, 0, library().router_id());
  return library().frame(header, [](caf::serializer& sink) { return sink(peer_node(), library().node()); });
}

std::string down_frame() {
  return library().frame(header_of(io::basp::message_type::down_message, 9, 0), [](caf::serializer& sink) {
    return sink(peer_node(), library().node(), caf::make_error(caf::exit_reason::user_shutdown));
  });
}

std::string heartbeat() {
  return library().written(
      [](caf::serializer& sink) { return sink(header_of(io::basp::message_type::heartbeat, 0, 0)); });
}

basp::Node self() {
  basp::Node node{};
  ENSURE(this_node().size() == node.size(), "the library names its processes as basp_frame.h says");
  std::ranges::copy(this_node(), node.begin());
  return node;
}

void deliver(const FrameGuard& guard, std::string_view payload) {
  ENSURE(library().wants() == FrameGuard::kHeaderBytes, "the library waits for a header");
  library().give({reinterpret_cast<const char*>(guard.header().data()), guard.header().size()});
  if (payload.empty() || !library().is_open()) return;
  ENSURE(library().wants() == payload.size(), "the library waits for what the header has announced");
  library().give(payload);
}

// Gives the stream to the guard, and what it delivers to the library, until it is over or the guard ends it. The
// library has no reason to end it.
void converse(std::string_view stream, FrameGuard::Side side) {
  FrameGuard guard(side, self(), kFrameBytesMax);
  std::size_t size = FrameGuard::kHeaderBytes;
  bool is_payload = false;
  while (size <= stream.size()) {
    const std::string_view bytes = stream.substr(0, size);
    stream.remove_prefix(size);
    const Verdict verdict = guard.inspect(bytes.data(), bytes.size());
    if (verdict == Verdict::kClose) return;
    if (verdict == Verdict::kDeliver) deliver(guard, is_payload ? bytes : std::string_view());
    if (!library().is_open()) return;  // a server of another application, say
    is_payload = verdict == Verdict::kWait;
    size = verdict == Verdict::kDeliver ? FrameGuard::kHeaderBytes : guard.next_read_bytes();
  }
}

bool accepts(std::string_view input) {
  Cursor cursor(input);
  const std::uint8_t options = cursor.byte();
  const bool is_dialled = (options & kDialled) != 0;
  std::string stream(cursor.rest());
  replace_all(stream, word_for_this_node(), this_node());
  if ((options & kGreeted) != 0) stream.insert(0, is_dialled ? server_greeting() : client_greeting());
  library().open(is_dialled);
  converse(stream, is_dialled ? FrameGuard::Side::kDialled : FrameGuard::Side::kAccepted);
  return library().close() > 0;
}

std::vector<std::string> samples() {
  std::string stream = monitor_frame() + letter_frame(40) + heartbeat() + letter_frame(700) + down_frame();
  replace_all(stream, this_node(), word_for_this_node());
  return {std::string(1, '\0') + client_greeting() + stream,
          std::string(1, static_cast<char>(kDialled)) + server_greeting() + stream,
          std::string(1, static_cast<char>(kGreeted)) + stream,
          std::string(1, static_cast<char>(kGreeted | kDialled)) + stream};
}

}  // namespace
}  // namespace frame_guard

const Harness kFrameGuard{"frame_guard", frame_guard::samples, frame_guard::accepts};

}  // namespace shoal::fuzz
