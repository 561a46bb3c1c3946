// See guest_frames.h. Numbers and atoms are written out, as an attacker would.
#include "tests/support/guest/guest_frames.h"

#include <array>

#include <xxhash.h>

namespace shoal::guest {
namespace {

constexpr std::uint64_t kAsynchronous = 0x1000000000000000;
constexpr std::string_view kLetterTypes = "@<>+shoal::WireFrame";
constexpr std::size_t kFrameHeadBytes = 32;

std::uint64_t atom_of(std::string_view text) {
  constexpr std::string_view kAlphabet = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  std::uint64_t value = 0xF;
  for (const char c : text) value = value << 6U | kAlphabet.find(c);
  return value;
}

std::string text_of(std::string_view text) { return length_of(text.size()) + std::string(text); }

// No stages, a type by its name.
std::string typed(std::string_view types) { return std::string(3, '\0') + text_of(types); }

FrameHead direct(const Conversation& who) { return {2, 0, kAsynchronous, who.own_actor, who.peer_actor}; }

// One frame of a letter on its way (runtime/transport/assembly.h), its checksum right.
std::string assembly_frame(std::uint64_t transfer, std::uint64_t offset, std::uint64_t total,
                           std::string_view payload) {
  std::string frame = big_endian(payload.size(), 4) + big_endian(transfer, 8) + big_endian(offset, 8) +
                      big_endian(total, 8) + std::string(payload);
  return big_endian(XXH3_64bits(frame.data(), frame.size()) & 0xFFFFFFFFU, 4) + frame;
}

}  // namespace

std::string big_endian(std::uint64_t value, std::size_t width) {
  std::string bytes(width, '\0');
  for (std::size_t i = 0; i < width; ++i) bytes[i] = static_cast<char>(value >> (8 * (width - 1 - i)) & 0xFFU);
  return bytes;
}

std::string length_of(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7F; value >>= 7U) bytes.push_back(static_cast<char>(value & 0x7FU) | static_cast<char>(0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string frame_of(const FrameHead& head, std::string_view payload) {
  std::string frame;
  frame.push_back(static_cast<char>(head.operation));
  frame += std::string(2, '\0');
  frame.push_back(static_cast<char>(head.flags));
  frame += big_endian(payload.size(), 4) + big_endian(head.data, 8) + big_endian(head.source, 8) +
           big_endian(head.destination, 8);
  return frame + std::string(payload);
}

std::string made_up_node(std::uint32_t process) {
  return big_endian(atom_of("default"), 8) + big_endian(process, 4) + "bad guest's own host";
}

std::string client_greeting(const Conversation& who, bool selects) {
  return frame_of({1, static_cast<std::uint8_t>(selects ? 2 : 0)}, who.self);
}

std::string server_greeting(const Conversation& who) {
  return frame_of({0, 0, 3},
                  who.self + length_of(1) + text_of("generic-caf-app") + big_endian(who.own_actor, 8) + length_of(0));
}

std::string letter_frame(const Conversation& who, std::string_view bytes) {
  return frame_of(direct(who), typed(kLetterTypes) + text_of(bytes));
}

std::string message_frame(const Conversation& who, std::string_view types, std::string_view content) {
  return frame_of(direct(who), typed(types) + std::string(content));
}

std::string announcing_frame(const Conversation& who, std::uint64_t bytes) {
  return frame_of(direct(who), typed(kLetterTypes) + length_of(bytes) + std::string(22, 'x'));
}

std::string monitor_frame(const Conversation& who) {
  return frame_of({4, 0, 0, 0, who.peer_actor}, who.self + who.peer);
}

std::string down_frame(const Conversation& who) {
  return frame_of({5, 0, 0, who.own_actor, 0}, who.self + who.peer + std::string(1, '\4') +
                                                   big_endian(atom_of("exit"), 8) + std::string(2, '\0') +
                                                   text_of("@<>"));
}

std::string heartbeat_frame() { return frame_of({6}, {}); }

std::string info_question(const Conversation& who) {
  FrameHead head = direct(who);
  head.flags = 1;
  head.destination = atom_of("SpawnServ");
  return frame_of(head, typed("@<>+@atom+@atom+@str") + big_endian(atom_of("sys"), 8) + big_endian(atom_of("get"), 8) +
                            text_of("info"));
}

std::string routed_frame(const Conversation& who) {
  FrameHead head = direct(who);
  head.operation = 3;
  return frame_of(head, who.self + made_up_node(9) + typed(kLetterTypes) + text_of("for a third"));
}

std::string BadFrames::next(const Conversation& who) { return of_kind(static_cast<int>(made_++ % kKinds), who); }

std::string BadFrames::of_kind(int kind, const Conversation& who) {
  FrameHead head = direct(who);
  switch (kind) {
    case 0: return flipped(client_greeting(who, random_() % 2 == 0));
    case 1: return flipped(server_greeting(who));
    case 2: return relabelled(who);
    case 3: return flipped(letter_frame(who, random_bytes(random_() % 200)));
    case 4: return announcing_frame(who, some_length());
    case 5: return flipped(routed_frame(who));
    case 6: return flipped(monitor_frame(who));
    case 7: return flipped(down_frame(who));
    case 8: return frame_of({6}, random_bytes(1 + random_() % 64));
    case 9: return frame_of({static_cast<std::uint8_t>(random_())}, random_bytes(random_() % 64));
    case 10: return letter_of_frames(who);
    case 11: return flipped(info_question(who));
    case 12: head.data = random_(); return frame_of(head, random_bytes(1 + random_() % 300));
    default: {
      std::string frame = letter_frame(who, random_bytes(random_() % 200));
      frame.resize(random_() % frame.size());
      return frame;
    }
  }
}

// A few bits, or a length that says anything.
std::string BadFrames::flipped(std::string frame) {
  if (random_() % 4 == 0) return frame.replace(4, 4, big_endian(some_length(), 4));
  for (std::uint64_t flips = 1 + random_() % 4; flips > 0; --flips) {
    frame[random_() % frame.size()] ^= static_cast<char>(1U << (random_() % 8));
  }
  return frame;
}

// Frame that the library can read and this program never sends.
std::string BadFrames::relabelled(const Conversation& who) {
  constexpr std::array<std::string_view, 14> kTypes = {"@<>",
                                                       "@<>+",
                                                       "@<>+@strong_actor_ptr",
                                                       "@<>+@message",
                                                       "@<>+@atom+@strong_actor_ptr",
                                                       "@<>+@error",
                                                       "@<>+@down",
                                                       "@<>+@exit",
                                                       "@<>+@strvec",
                                                       "@<>+@str",
                                                       "@<>+@charbuf",
                                                       "@<>+@ldouble",
                                                       "@<>+@u16+@node",
                                                       "@<>+shoal::WireFrame+shoal::WireFrame"};
  std::string content = random_bytes(random_() % 100);
  if (random_() % 2 == 0) content = length_of(some_length()) + content;
  return message_frame(who, kTypes[random_() % kTypes.size()], content);
}

// Good for the library; for what reads it next it is another matter: announcements of any size, nonsense for a letter.
std::string BadFrames::letter_of_frames(const Conversation& who) {
  const std::uint64_t letter = random_() % 3 == 0 ? some_length() : 8 * (random_() % 20);
  const std::uint64_t buffers = random_() % 5 == 0 ? some_length() : random_() % 3;
  std::string preamble = big_endian(buffers, 4) + big_endian(letter, 8);
  std::uint64_t content = letter;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(buffers, 4); ++i) {
    const std::uint64_t size = some_length();
    preamble += big_endian(size, 8);
    content += size;
  }
  std::string payload = preamble + random_bytes(std::min<std::uint64_t>(content, random_() % 300));
  const std::uint64_t total = random_() % 8 == 0 ? some_length() : preamble.size() + content;
  return letter_frame(who, assembly_frame(random_() % 3, random_() % 4 == 0 ? some_length() : 0, total, payload));
}

std::string BadFrames::random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random_());
  return bytes;
}

std::uint64_t BadFrames::some_length() {
  constexpr std::array<std::uint64_t, 10> kLengths = {0,
                                                      1,
                                                      0x7F,
                                                      0xFFFF,
                                                      std::uint64_t{1} << 20,
                                                      std::uint64_t{1} << 31,
                                                      (std::uint64_t{1} << 32) - 1,
                                                      std::uint64_t{1} << 32,
                                                      std::uint64_t{1} << 40,
                                                      ~std::uint64_t{0}};
  return kLengths[random_() % kLengths.size()];
}

}  // namespace shoal::guest
