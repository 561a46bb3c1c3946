// Lets one list of fields serve both directions of the codec. Private to codec.cpp.
//
// A message's fields are named once, in fields/*.h; FIELD, LIST, PART and TENSOR write them into a Cap'n Proto
// builder or read them from a reader, depending on Io. Reading validates: whatever is out of range throws Malformed,
// which decode() catches. A text is made printable; one of several lines is read by LINES.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "messages/codec.h"
#include "messages/printable.h"

namespace shoal::codec {

struct Malformed {
  std::string why;
};

struct Writer {
  static constexpr bool kWrites = true;
  template <class T>
  using Ref = const T&;
  std::vector<SharedBuffer>& buffers;
};

struct Reader {
  static constexpr bool kWrites = false;
  template <class T>
  using Ref = T&;
  const std::vector<SharedBuffer>& buffers;
  std::size_t memory_left;  // for the elements of lists

  // A list says how many elements it has, and of some kinds of element it needs no byte for any of them: the memory
  // for them is bounded by the bytes that have come (S-6).
  void take_memory(std::size_t count, std::size_t size) {
    if (count > memory_left / size) throw Malformed{"a list of more elements than its message has room for"};
    memory_left -= count * size;
  }
};

// Says whether a value is an enumerator: compilers write "shoal::Role::kStage" for one, "(shoal::Role)9" for another.
template <auto kValue>
consteval bool is_enumerator() {
  constexpr std::string_view kBefore = "kValue = ";
  const std::string_view name = __PRETTY_FUNCTION__;
  return name.at(name.find(kBefore) + kBefore.size()) != '(';
}

// The highest enumerator of an enumeration, which counts from 0 without a gap.
template <class Enum, int kKnown = 0>
consteval int last() {
  if constexpr (is_enumerator<static_cast<Enum>(kKnown + 1)>()) {
    return last<Enum, kKnown + 1>();
  } else {
    return kKnown;
  }
}
static_assert(last<RefusalReason>() == static_cast<int>(RefusalReason::kUnknownReplica), "the compiler's words differ");

template <class T>
concept IsId = requires(T id) {
  id.value;
};

template <class T>
auto to_wire(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<std::uint8_t>(value);
  } else if constexpr (IsId<T>) {
    return value.value;
  } else {
    return value;
  }
}
inline capnp::Text::Reader to_wire(const std::string& text) { return {text.c_str(), text.size()}; }

template <class T, class W>
void from_wire(W wire, T& value) {
  if constexpr (std::is_enum_v<T>) {
    if (static_cast<int>(wire) > last<T>()) throw Malformed{"an enumeration out of range"};
    value = static_cast<T>(wire);
  } else if constexpr (IsId<T>) {
    value.value = wire;
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = printable({wire.begin(), wire.size()});
  } else {
    value = wire;
  }
}

template <class Wire>
void fields(Writer& io, Wire wire, const TensorBlob& tensor) {
  wire.setPresent(tensor.has_value());
  if (!tensor.has_value()) return;
  if (!tensor.bytes) throw std::logic_error("a tensor leaves the process before it is on the host");
  wire.setDtype(to_wire(tensor.dtype));
  wire.setWireDtype(to_wire(tensor.dtype));
  auto shape = wire.initShape(static_cast<unsigned>(tensor.shape.size()));
  for (unsigned i = 0; i < shape.size(); ++i) shape.set(i, tensor.shape[i]);
  wire.setByteCount(tensor.byte_count());
  wire.setBuffer(static_cast<std::uint32_t>(io.buffers.size()));
  io.buffers.push_back(tensor.bytes);
}

// The element count of a shape whose product cannot overflow, or Malformed.
template <class Shape>
std::uint64_t checked_element_count(const Shape& shape) {
  if (shape.size() > kTensorRankMax) throw Malformed{"a tensor of too many dimensions"};
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw Malformed{"a negative extent"};
    if (extent != 0 && count > kTensorBytesMax / static_cast<std::uint64_t>(extent))
      throw Malformed{"a tensor too large"};
    count *= static_cast<std::uint64_t>(extent);
  }
  return count;
}

template <class Wire>
void fields(Reader& io, Wire wire, TensorBlob& tensor) {
  tensor = {};
  if (!wire.getPresent()) return;
  from_wire(wire.getDtype(), tensor.dtype);
  if (wire.getWireDtype() != wire.getDtype()) throw Malformed{"a tensor in a wire dtype this version does not know"};
  if (wire.getBuffer() >= io.buffers.size()) throw Malformed{"a tensor without its buffer"};
  const SharedBuffer& buffer = io.buffers[wire.getBuffer()];
  const std::uint64_t bytes = checked_element_count(wire.getShape()) * size_of(tensor.dtype);
  if (!buffer || bytes != buffer->size() || bytes != wire.getByteCount()) {
    throw Malformed{"a tensor whose shape, byte count and buffer disagree"};
  }
  for (const std::int64_t extent : wire.getShape()) tensor.shape.push_back(extent);
  tensor.bytes = buffer;
}

template <class List, class T>
void read_scalars(Reader& io, List list, std::vector<T>& out) {
  io.take_memory(list.size(), sizeof(T));
  out.resize(list.size());
  for (unsigned i = 0; i < list.size(); ++i) from_wire(list[i], out[i]);
}

}  // namespace shoal::codec

#define SHOAL_FIELDS(Type)        \
  template <class Io, class Wire> \
  void fields([[maybe_unused]] Io& io, Wire wire, typename Io::template Ref<Type> m)

#define FIELD(member, Name)                  \
  do {                                       \
    if constexpr (Io::kWrites) {             \
      wire.set##Name(to_wire(m.member));     \
    } else {                                 \
      from_wire(wire.get##Name(), m.member); \
    }                                        \
  } while (false)

#define LINES(member, Name)                                                 \
  do {                                                                      \
    if constexpr (Io::kWrites) {                                            \
      wire.set##Name(to_wire(m.member));                                    \
    } else {                                                                \
      const capnp::Text::Reader text = wire.get##Name();                    \
      m.member = printable({text.begin(), text.size()}, TextShape::kLines); \
    }                                                                       \
  } while (false)

#define PART(member, Name)                     \
  do {                                         \
    if constexpr (Io::kWrites) {               \
      fields(io, wire.init##Name(), m.member); \
    } else {                                   \
      fields(io, wire.get##Name(), m.member);  \
    }                                          \
  } while (false)

#define SCALARS(member, Name)                                                       \
  do {                                                                              \
    if constexpr (Io::kWrites) {                                                    \
      auto list = wire.init##Name(static_cast<unsigned>(m.member.size()));          \
      for (unsigned i = 0; i < list.size(); ++i) list.set(i, to_wire(m.member[i])); \
    } else {                                                                        \
      read_scalars(io, wire.get##Name(), m.member);                                 \
    }                                                                               \
  } while (false)

#define LIST(member, Name)                                                         \
  do {                                                                             \
    if constexpr (Io::kWrites) {                                                   \
      auto list = wire.init##Name(static_cast<unsigned>(m.member.size()));         \
      for (unsigned i = 0; i < list.size(); ++i) fields(io, list[i], m.member[i]); \
    } else {                                                                       \
      auto list = wire.get##Name();                                                \
      io.take_memory(list.size(), sizeof(m.member[0]));                            \
      m.member.resize(list.size());                                                \
      for (unsigned i = 0; i < list.size(); ++i) fields(io, list[i], m.member[i]); \
    }                                                                              \
  } while (false)
