// One judge per kind of frame; a payload is judged with the header it came with.
#include "runtime/transport/guard/frame_guard.h"

#include <algorithm>
#include <utility>

namespace shoal {

using basp::Operation;

FrameGuard::Verdict FrameGuard::inspect(const void* data, std::size_t size) {
  const basp::Bytes bytes(static_cast<const unsigned char*>(data), size);
  const State state = std::exchange(state_, State::kHeader);
  if (state == State::kHeader) return inspect_header(bytes);
  next_read_bytes_ = kHeaderBytes;
  if (state == State::kDroppedPayload) return drop();
  if (size != header_.length) return close("a frame was shorter than it announced");
  return inspect_payload(bytes);
}

FrameGuard::Verdict FrameGuard::inspect_header(basp::Bytes bytes) {
  if (bytes.size() != kHeaderBytes) return close("a frame's header was too short");
  std::copy(bytes.begin(), bytes.end(), header_bytes_.begin());
  header_ = basp::header_in(header_bytes_);
  const auto operation = static_cast<Operation>(header_.operation);
  if (header_.operation > static_cast<std::uint8_t>(Operation::kHeartbeat)) {
    return close("a frame had an unknown operation");
  }
  if (header_.length > basp::length_max(header_, frame_bytes_max_)) {
    return close("a frame announced more bytes than are allowed");
  }
  if (!basp::is_header_of_ours(header_, frame_bytes_max_)) return close("a frame's header says what nobody says");
  if (!peer_ && !is_greeting(operation)) return close("a frame came before its sender's handshake");
  if (operation == Operation::kMonitor && ++monitors_ > kMonitorsMax) return close("it watches too many actors");
  if (header_.length == 0) return operation == Operation::kRoutedMessage ? drop() : Verdict::kDeliver;
  state_ = operation == Operation::kRoutedMessage ? State::kDroppedPayload : State::kPayload;
  next_read_bytes_ = header_.length;
  return Verdict::kWait;
}

FrameGuard::Verdict FrameGuard::inspect_payload(basp::Bytes payload) {
  switch (static_cast<Operation>(header_.operation)) {
    case Operation::kServerHandshake:
    case Operation::kClientHandshake: return judge_greeting(payload);
    case Operation::kDirectMessage: return judge_message(payload);
    case Operation::kMonitor:
      if (basp::is_monitor(payload, *peer_, self_)) return Verdict::kDeliver;
      return close("it watches an actor of another process, or for one");
    case Operation::kDown: return judge_down(payload);
    case Operation::kRoutedMessage:
    case Operation::kHeartbeat: break;
  }
  return close("a frame had a payload where none belongs");
}

// A server greets once; a client does again when it has read the server's greeting, and then says that it has chosen
// this connection, still as the same process.
FrameGuard::Verdict FrameGuard::judge_greeting(basp::Bytes payload) {
  const auto operation = static_cast<Operation>(header_.operation);
  if (!is_greeting(operation)) return close("a handshake of the wrong side");
  const auto node = side_ == Side::kAccepted ? basp::greeting_of_client(payload) : basp::greeting_of_server(payload);
  if (!node) return close("a handshake is malformed");
  if (*node == self_) return close("it goes by our own name");
  const bool selects = header_.flags == basp::kSelectConnection;
  const bool is_in_order = peer_ ? selects && !has_selected_ : !selects;
  if (!is_in_order || (peer_ && *peer_ != *node)) return close("a handshake was repeated");
  has_selected_ = selects;
  peer_ = node;
  return Verdict::kDeliver;
}

FrameGuard::Verdict FrameGuard::judge_message(basp::Bytes payload) {
  switch (basp::message_in(header_, payload)) {
    case basp::Message::kInfo: return drop();
    case basp::Message::kOther: return close("a message is no frame of a letter");
    case basp::Message::kLetter: break;
  }
  if (speaker_ != 0 && speaker_ != header_.source) return close("several of its actors speak");
  speaker_ = header_.source;
  return Verdict::kDeliver;
}

// The end of an actor that threw carries words, which the library could read only by reading anything at all. The
// actor's process is about to end, which says the same.
FrameGuard::Verdict FrameGuard::judge_down(basp::Bytes payload) {
  switch (basp::down_in(payload, *peer_, self_)) {
    case basp::Down::kWithoutContext: return Verdict::kDeliver;
    case basp::Down::kWithContext: return drop();
    case basp::Down::kOther: break;
  }
  return close("it tells of the end of another process's actor, or somebody else");
}

bool FrameGuard::is_greeting(Operation operation) const {
  return operation == (side_ == Side::kAccepted ? Operation::kClientHandshake : Operation::kServerHandshake);
}

FrameGuard::Verdict FrameGuard::close(std::string_view reason) {
  reason_ = reason;
  return Verdict::kClose;
}

FrameGuard::Verdict FrameGuard::drop() {
  next_read_bytes_ = kHeaderBytes;
  return Verdict::kDrop;
}

std::size_t BufferBound::look(std::vector<char>& buffer, std::size_t used, std::chrono::steady_clock::time_point now) {
  if (used > kKeptBytes) needed_at_ = now;
  const bool is_idle = buffer.empty() && now - needed_at_ >= kKeptFor;
  if (!is_idle || buffer.capacity() <= kKeptBytes) return 0;
  const std::size_t given_back = buffer.capacity();
  std::vector<char>().swap(buffer);
  return given_back;
}

}  // namespace shoal
