// A letter and its tensors as frames of at most 1 MiB, and back, straight into 64-byte-aligned memory.
//
//   transfer = preamble  letter-bytes  buffer[0]  buffer[1] ...             one after the other, cut anywhere
//   preamble = be32 buffer-count  be64 letter-size  be64 size[buffer-count]     lies whole in the first frame
//   frame    = be32 checksum  be32 payload-size  be64 transfer  be64 offset  be64 total-size   payload
//
// checksum: the low 32 bits of XXH3-64 over the rest of the frame. Offsets of a transfer ascend without gaps, because
// the connection below keeps order. A peer's frame is believed only after every field was checked against the bounds.
// Memory is taken as content comes, not as it is announced (S-6): a few bytes may announce gigabytes, and cost kFirst.
// Any Failure means: this link is broken, reset it and count it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "messages/codec.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"

namespace shoal {

inline constexpr std::size_t kFrameBytesMax = std::size_t{1} << 20;  // header included
inline constexpr std::size_t kFrameHeaderBytes = 32;

// Returns the number of bytes that a frame's header says will follow it. `header` is whole.
[[nodiscard]] std::uint64_t payload_size_in(std::span<const char> header);

struct AssemblyLimits {
  std::size_t letter_bytes_max = kLetterBytesMax;
  std::size_t buffer_bytes_max = kTensorBytesMax;
  std::size_t buffers_max = 16;                                    // tensors in one letter
  std::size_t transfers_max = 4;                                   // open at once, per peer
  std::size_t open_bytes_max = kTensorBytesMax + kLetterBytesMax;  // all open transfers together, per peer
};

// For a peer that has no number yet: it says who it is and asks to join, without tensors.
inline constexpr AssemblyLimits kStrangerAssembly{
    .letter_bytes_max = std::size_t{64} << 10,
    .buffer_bytes_max = 0,
    .buffers_max = 0,
    .transfers_max = 1,
    .open_bytes_max = std::size_t{64} << 10,
};

// Cuts one letter. `transfer` must be new on this link. The preamble fits one frame (ENSURE).
class Cutter {
 public:
  // Frames of at most `frame_bytes`, which is more than a header and a preamble, and at most kFrameBytesMax.
  Cutter(EncodedLetter letter, std::uint64_t transfer, std::size_t frame_bytes = kFrameBytesMax);

  [[nodiscard]] bool is_done() const { return offset_ == total_; }
  // The next frame takes the place of what is in `frame`, and its memory. Not when is_done().
  void next(std::vector<char>& frame);

 private:
  EncodedLetter letter_;
  std::vector<char> preamble_;
  std::uint64_t transfer_;
  std::size_t frame_bytes_;
  std::uint64_t total_;
  std::uint64_t offset_ = 0;
};

// Calls `put` once per frame, in order.
void cut(const EncodedLetter& letter, std::uint64_t transfer, const std::function<void(std::vector<char>)>& put);

[[nodiscard]] std::size_t byte_count(const EncodedLetter& letter);

// Result of a transfer whose last frame has come.
struct Assembled {
  std::vector<char> letter;
  std::vector<SharedBuffer> buffers;
  Duration took{};  // first frame to last
};

// Part of a transfer that takes its time: its letter is whole; its tensors have their sizes, their contents are not for
// ready yet.
struct Arriving {
  EncodedLetter letter;
  std::uint64_t received = 0;  // bytes of its tensors
  Duration took{};             // since its first frame
};

// A tensor on its way. Its memory grows to four times what has come, but never beyond its announced size; so at most a
// third of the tensor is copied once more, and what is small is not copied at all.
class ArrivingBuffer {
 public:
  static constexpr std::uint64_t kFirstBytesMax = kFrameBytesMax;
  static constexpr std::uint64_t kGrowth = 4;

  explicit ArrivingBuffer(std::uint64_t size) : size_(size) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }  // as announced
  // The next bytes, which do not reach beyond the size. Throws std::bad_alloc.
  void append(std::span<const char> bytes);
  // All has come. Throws std::bad_alloc, of an empty one.
  [[nodiscard]] SharedBuffer take();
  [[nodiscard]] std::uint64_t memory() const { return memory_ ? memory_->size() : 0; }

 private:
  void make_room(std::uint64_t size);

  std::uint64_t size_;
  std::uint64_t have_ = 0;
  std::shared_ptr<AlignedBuffer> memory_;  // none before the first byte
};

// The receiving end of one link.
class Assembler {
 public:
  static constexpr Duration kNewsEvery = std::chrono::seconds(1);

  explicit Assembler(AssemblyLimits limits = {}) : limits_(limits) {}

  // One frame. A value without content: more is to come. Errors: kInvalidData, what is wrong with the frame.
  [[nodiscard]] Result<std::optional<Assembled>> accept(std::span<const char> frame, Instant now);

  // Returns, after an accept(), how far its transfer is, if it began or was told of kNewsEvery ago.
  [[nodiscard]] std::optional<Arriving> take_news() { return std::exchange(news_, std::nullopt); }

  [[nodiscard]] std::size_t open_transfers() const { return open_.size(); }
  [[nodiscard]] std::size_t open_bytes() const { return open_bytes_; }  // announced
  // Taken for what has come of them.
  [[nodiscard]] std::uint64_t memory() const;
  // Sets limits from the next transfer on: a peer that has shown more of itself may send more.
  void allow(const AssemblyLimits& limits) { limits_ = limits; }

 private:
  struct Header {
    std::uint64_t transfer = 0;
    std::uint64_t offset = 0;
    std::uint64_t total = 0;
  };
  struct Transfer {
    std::uint64_t total = 0;
    std::uint64_t received = 0;  // bytes so far, preamble included
    std::uint64_t preamble = 0;  // its size
    std::uint64_t letter_size = 0;
    std::vector<char> letter;  // as much of it as has come
    std::vector<ArrivingBuffer> buffers;
    Instant began;
    Instant told;
  };

  [[nodiscard]] Result<Header> check_header(std::span<const char> frame) const;
  [[nodiscard]] Status open(const Header& header, std::span<const char> payload, Instant now);
  [[nodiscard]] static Status place(Transfer& transfer, std::span<const char> payload);
  void note_news(Transfer& transfer, Instant now);

  AssemblyLimits limits_;
  std::size_t open_bytes_ = 0;
  std::map<std::uint64_t, Transfer> open_;
  std::optional<Arriving> news_;
};

}  // namespace shoal
