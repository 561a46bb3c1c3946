// A cursor over bytes that never steps beyond them; each payload is read from its first byte to its last.
#include "runtime/transport/guard/basp_frame.h"

#include <algorithm>
#include <string_view>

namespace shoal::basp {
namespace {

constexpr std::uint64_t kVersion = 3;
constexpr std::uint64_t kAsynchronous = 0x1000000000000000;  // normal priority; no question, no answer
constexpr std::string_view kLetterTypes = "@<>+shoal::WireFrame";
constexpr std::string_view kInfoQuestionTypes = "@<>+@atom+@atom+@str";
constexpr std::string_view kInfoAnswerTypes = "@<>+@atom+@str+@strong_actor_ptr+@str";
constexpr std::string_view kNoContext = "@<>";

// The library's atoms: six bits a character, the first of them marked by four set bits.
constexpr std::uint64_t atom(std::string_view text) {
  constexpr std::string_view kAlphabet = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  std::uint64_t value = 0xF;
  for (const char c : text) value = value << 6U | kAlphabet.find(c);
  return value;
}
constexpr std::uint64_t kDefaultNode = atom("default");
constexpr std::uint64_t kSpawnServer = atom("SpawnServ");

bool is_all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == 0; });
}

class Cursor {
 public:
  explicit Cursor(Bytes bytes) : left_(bytes) {}

  [[nodiscard]] bool is_at_end() const { return left_.empty(); }
  [[nodiscard]] std::size_t left() const { return left_.size(); }

  [[nodiscard]] std::optional<Bytes> bytes(std::size_t count) {
    if (count > left_.size()) return std::nullopt;
    const Bytes taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  // Reads a number in network byte order.
  [[nodiscard]] std::optional<std::uint64_t> number(std::size_t width) {
    const auto taken = bytes(width);
    if (!taken) return std::nullopt;
    std::uint64_t value = 0;
    for (const unsigned char byte : *taken) value = value << 8U | byte;
    return value;
  }
  // Reads at most 32 bits. A length that would fit into fewer bytes is refused: the library shifts by 7 for each byte.
  [[nodiscard]] std::optional<std::uint32_t> length() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const auto byte = number(1);
      if (!byte) return std::nullopt;
      value |= (*byte & 0x7FU) << shift;
      if ((*byte & 0x80U) != 0) continue;
      const bool is_shortest = shift == 0 || *byte != 0;
      if (!is_shortest || value > 0xFFFFFFFFU) return std::nullopt;
      return static_cast<std::uint32_t>(value);
    }
    return std::nullopt;
  }
  [[nodiscard]] bool skip_string(std::size_t size_max) {
    const auto size = length();
    return size && *size <= size_max && bytes(*size).has_value();
  }
  // Skips so many strings, however few bytes each has.
  [[nodiscard]] bool skip_strings(std::size_t count_min, std::size_t count_max) {
    const auto count = length();
    if (!count || *count < count_min || *count > count_max) return false;
    for (std::uint32_t i = 0; i < *count; ++i) {
      if (!skip_string(kNameBytesMax)) return false;
    }
    return true;
  }
  // A list of types by its name, as a message begins.
  [[nodiscard]] bool skip_types(std::string_view types) {
    const auto known_type = number(2);
    const auto size = length();
    if (known_type != std::uint64_t{0} || size != types.size()) return false;
    const auto name = bytes(types.size());
    return name && std::equal(name->begin(), name->end(), types.begin());
  }

 private:
  Bytes left_;
};

[[nodiscard]] bool skip_node(Cursor& cursor, const Node& node) {
  const auto found = cursor.bytes(kNodeBytes);
  return found && std::equal(found->begin(), found->end(), node.begin());
}

// No actors that it has passed through, then these types; the cursor is behind them.
[[nodiscard]] bool begins_with(Cursor& cursor, std::string_view types) {
  return cursor.length() == std::uint32_t{0} && cursor.skip_types(types);
}

[[nodiscard]] bool is_letter(Bytes payload) {
  Cursor cursor(payload);
  if (!begins_with(cursor, kLetterTypes)) return false;
  const auto size = cursor.length();
  return size && *size == cursor.left();
}

[[nodiscard]] bool is_info_question(Bytes payload) {
  Cursor cursor(payload);
  if (!begins_with(cursor, kInfoQuestionTypes)) return false;
  const bool has_atoms = cursor.number(8) == atom("sys") && cursor.number(8) == atom("get");
  constexpr std::string_view kInfo = "info";
  if (!has_atoms || cursor.length() != kInfo.size()) return false;
  const auto text = cursor.bytes(kInfo.size());
  return text && std::equal(text->begin(), text->end(), kInfo.begin()) && cursor.is_at_end();
}

[[nodiscard]] bool is_info_answer(Bytes payload) {
  Cursor cursor(payload);
  return begins_with(cursor, kInfoAnswerTypes);
}

}  // namespace

Header header_in(std::span<const unsigned char, kHeaderBytes> bytes) {
  Cursor cursor(bytes);
  const auto number = [&cursor](std::size_t width) { return cursor.number(width).value_or(0); };
  Header header;
  header.operation = static_cast<std::uint8_t>(number(1));
  header.padding = static_cast<std::uint16_t>(number(2));
  header.flags = static_cast<std::uint8_t>(number(1));
  header.length = static_cast<std::uint32_t>(number(4));
  header.data = number(8);
  header.source = number(8);
  header.destination = number(8);
  return header;
}

bool is_header_of_ours(const Header& header, std::uint32_t letter_bytes_max) {
  if (header.padding != 0) return false;
  if (header.length > length_max(header, letter_bytes_max)) return false;
  const bool has_no_actors = header.source == 0 && header.destination == 0;
  const bool is_plain = header.flags == 0 && header.data == 0;
  switch (static_cast<Operation>(header.operation)) {
    case Operation::kServerHandshake:
      return header.flags == 0 && header.data == kVersion && has_no_actors && header.length > kNodeBytes;
    case Operation::kClientHandshake:
      return (header.flags == 0 || header.flags == kSelectConnection) && header.data == 0 && has_no_actors &&
             header.length == kNodeBytes;
    case Operation::kDirectMessage: {
      const bool is_to_name = header.flags == kNamedReceiver && header.destination == kSpawnServer;
      const bool is_to_actor = header.flags == 0 && header.destination != 0;
      return (is_to_name || is_to_actor) && header.data == kAsynchronous && header.source != 0 && header.length > 0;
    }
    case Operation::kRoutedMessage: return true;
    case Operation::kMonitor:
      return is_plain && header.source == 0 && header.destination != 0 && header.length == 2 * kNodeBytes;
    case Operation::kDown:
      return is_plain && header.source != 0 && header.destination == 0 && header.length > 2 * kNodeBytes;
    case Operation::kHeartbeat: return is_plain && has_no_actors;
  }
  return false;
}

std::uint32_t length_max(const Header& header, std::uint32_t letter_bytes_max) {
  switch (static_cast<Operation>(header.operation)) {
    case Operation::kServerHandshake: return kServerHandshakeBytesMax;
    case Operation::kClientHandshake: return kNodeBytes;
    case Operation::kDirectMessage: return header.flags == 0 ? letter_bytes_max : std::uint32_t{kInfoBytesMax};
    case Operation::kRoutedMessage: return letter_bytes_max;
    case Operation::kMonitor: return 2 * kNodeBytes;
    case Operation::kDown: return kDownBytesMax;
    case Operation::kHeartbeat: break;
  }
  return 0;
}

std::optional<Node> node_in(Bytes bytes) {
  Cursor cursor(bytes);
  const auto kind = cursor.number(8);
  const auto process = cursor.number(4);
  const auto host = cursor.bytes(kNodeBytes - 12);
  if (!host || kind != kDefaultNode || process == std::uint64_t{0} || is_all_zero(*host)) return std::nullopt;
  Node node;
  std::copy_n(bytes.begin(), kNodeBytes, node.begin());
  return node;
}

std::optional<Node> greeting_of_server(Bytes payload) {
  const auto node = node_in(payload);
  if (!node) return std::nullopt;
  Cursor cursor(payload.subspan(kNodeBytes));
  const bool is_whole = cursor.skip_strings(1, kApplicationNamesMax) && cursor.number(8).has_value() &&
                        cursor.skip_strings(0, kMessageNamesMax) && cursor.is_at_end();
  return is_whole ? node : std::nullopt;
}

std::optional<Node> greeting_of_client(Bytes payload) {
  return payload.size() == kNodeBytes ? node_in(payload) : std::nullopt;
}

Message message_in(const Header& header, Bytes payload) {
  if (header.flags == kNamedReceiver) return is_info_question(payload) ? Message::kInfo : Message::kOther;
  if (is_letter(payload)) return Message::kLetter;
  return payload.size() <= kInfoBytesMax && is_info_answer(payload) ? Message::kInfo : Message::kOther;
}

bool is_monitor(Bytes payload, const Node& watcher, const Node& watched) {
  Cursor cursor(payload);
  return skip_node(cursor, watcher) && skip_node(cursor, watched) && cursor.is_at_end();
}

Down down_in(Bytes payload, const Node& owner, const Node& watcher) {
  Cursor cursor(payload);
  if (!skip_node(cursor, owner) || !skip_node(cursor, watcher)) return Down::kOther;
  const bool has_reason = cursor.number(1).has_value() && cursor.number(8).has_value();
  if (!has_reason) return Down::kOther;
  Cursor context = cursor;
  if (context.skip_types(kNoContext) && context.is_at_end()) return Down::kWithoutContext;
  return Down::kWithContext;
}

}  // namespace shoal::basp
