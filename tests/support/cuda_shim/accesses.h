// The shim's check of memory accesses: who touched which byte of shared and global memory, and behind which barrier.
// Pure bookkeeping; the fibers tell it where a thread is, the compiler's instrumentation what it touches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace shoal::shim {

// A moment of a thread: two accesses of one block are in order if a barrier lies between them, of the block or, for
// threads of one warp, of the warp.
struct Moment {
  std::uint32_t block = 0;
  std::uint32_t thread = 0;
  std::uint32_t block_barriers = 0;
  std::uint32_t warp_barriers = 0;
};

struct Access {
  std::uintptr_t at = 0;
  std::size_t size = 0;
  bool is_write = false;
};

class Accesses {
 public:
  void begin_launch() { touched_.clear(); }
  void allow(std::uintptr_t begin, std::size_t size) { arrays_[begin] = size; }
  void forbid(std::uintptr_t begin) { arrays_.erase(begin); }

  // Returns what is wrong with an access of shared or global memory, or nothing.
  [[nodiscard]] std::string check_shared(const Access& access, const Moment& now);
  [[nodiscard]] std::string check_global(const Access& access, const Moment& now);

 private:
  struct Byte {
    Moment writer, reader;
    bool is_written = false, is_read = false;
    bool has_other_readers = false;  // since the last barrier of the block
    bool has_other_blocks = false;   // among those that read it in this launch
  };
  // Bytes that were always touched together: the first stands for all of them until one is touched alone.
  struct Word {
    std::array<Byte, 4> bytes;
    bool are_alike = true;
  };
  using Line = std::array<Word, 16>;  // looked up at once

  template <class Check>
  void for_each_byte(const Access& access, const Check& check);
  template <class Check>
  static void for_bytes_of(Word& word, std::size_t first, std::size_t end, const Check& check);
  [[nodiscard]] static const char* conflict(const Byte& byte, bool is_write, const Moment& now);
  static void note(Byte& byte, bool is_write, const Moment& now);

  std::map<std::uintptr_t, std::size_t> arrays_;
  std::unordered_map<std::uintptr_t, Line> touched_;
};

}  // namespace shoal::shim
