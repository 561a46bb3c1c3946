// A byte remembers its last writer and its readers since; that is enough to find the first conflict.
#include "tests/support/cuda_shim/accesses.h"

#include <algorithm>

namespace shoal::shim {
namespace {

constexpr std::uint32_t kLanes = 32;
constexpr std::uintptr_t kWordBytes = 4;
constexpr std::uintptr_t kLineBytes = 64;

bool is_unordered(const Moment& before, const Moment& now) {
  if (before.block != now.block) return true;
  if (before.thread == now.thread || before.block_barriers != now.block_barriers) return false;
  const bool is_same_warp = before.thread / kLanes == now.thread / kLanes;
  return !(is_same_warp && before.warp_barriers != now.warp_barriers);
}

std::string name_of(const Moment& moment) {
  return "thread " + std::to_string(moment.thread) + " of block " + std::to_string(moment.block) + " behind " +
         std::to_string(moment.block_barriers) + " barriers";
}

}  // namespace

const char* Accesses::conflict(const Byte& byte, bool is_write, const Moment& now) {
  if (byte.is_written && is_unordered(byte.writer, now))
    return is_write ? "writes what was written by" : "reads what was written by";
  if (!is_write || !byte.is_read) return nullptr;
  const bool is_other_at_once = byte.has_other_readers && byte.reader.block_barriers == now.block_barriers;
  if (is_unordered(byte.reader, now) || is_other_at_once || byte.has_other_blocks) return "writes what was read by";
  return nullptr;
}

void Accesses::note(Byte& byte, bool is_write, const Moment& now) {
  if (is_write) {
    byte = {now, {}, true, false, false, false};
    return;
  }
  if (byte.is_read) {
    const bool is_same_block = byte.reader.block == now.block;
    const bool is_same_interval = is_same_block && byte.reader.block_barriers == now.block_barriers;
    byte.has_other_blocks = byte.has_other_blocks || !is_same_block;
    byte.has_other_readers = is_same_interval && (byte.has_other_readers || byte.reader.thread != now.thread);
  }
  byte.reader = now;
  byte.is_read = true;
}

template <class Check>
void Accesses::for_bytes_of(Word& word, std::size_t first, std::size_t end, const Check& check) {
  if (word.are_alike && first == 0 && end == kWordBytes) return check(word.bytes[0]);
  if (word.are_alike) word.bytes.fill(word.bytes[0]);
  word.are_alike = false;
  for (std::size_t i = first; i < end; ++i) check(word.bytes[i]);
}

// Calls for each byte, or once for several with the same past.
template <class Check>
void Accesses::for_each_byte(const Access& access, const Check& check) {
  const std::uintptr_t end = access.at + access.size;
  for (std::uintptr_t at = access.at; at < end;) {
    Line& line = touched_[at / kLineBytes];
    do {
      const std::uintptr_t begin = at / kWordBytes * kWordBytes;
      for_bytes_of(line[at % kLineBytes / kWordBytes], at - begin, std::min(end - begin, kWordBytes), check);
      at = begin + kWordBytes;
    } while (at < end && at % kLineBytes != 0);
  }
}

std::string Accesses::check_shared(const Access& access, const Moment& now) {
  std::string wrong;
  for_each_byte(access, [&](Byte& byte) {
    const bool is_of_this_block = byte.is_written && byte.writer.block == now.block;
    if (!is_of_this_block) byte = {};  // a block begins with shared memory of its own
    if (wrong.empty() && !is_of_this_block && !access.is_write) {
      wrong = name_of(now) + " reads shared memory that nobody has written";
    }
    const char* how = is_of_this_block ? conflict(byte, access.is_write, now) : nullptr;
    if (wrong.empty() && how != nullptr) {
      wrong = name_of(now) + " " + how + " " + name_of(byte.is_read && access.is_write ? byte.reader : byte.writer);
    }
    note(byte, access.is_write, now);
  });
  return wrong;
}

std::string Accesses::check_global(const Access& access, const Moment& now) {
  const auto behind = arrays_.upper_bound(access.at);
  const bool has_array = behind != arrays_.begin();
  const auto array = has_array ? std::prev(behind) : behind;
  if (!has_array || access.at + access.size > array->first + array->second) {
    return name_of(now) + (access.is_write ? " writes" : " reads") + " outside of every array";
  }
  std::string wrong;
  for_each_byte(access, [&](Byte& byte) {
    const char* how = conflict(byte, access.is_write, now);
    if (wrong.empty() && how != nullptr) {
      wrong = name_of(now) + " " + how + " " + name_of(byte.is_read && access.is_write ? byte.reader : byte.writer);
    }
    note(byte, access.is_write, now);
  });
  return wrong;
}

}  // namespace shoal::shim
