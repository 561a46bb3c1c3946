// Finds the blocks of a trace file (trace_file.h has the format) without holding the file in memory: that of a run of
// months has gigabytes, and a process that starts looks for its end.
//
// A block counts when its header is good and all of it is there; whatever follows the first one that does not is no
// part of the file. Memory is bounded: a piece, or one block where its body is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/trace/event.h"

namespace shoal {

inline constexpr std::string_view kBlockMagic = "SHTR";
inline constexpr std::size_t kBlockHeaderBytes = 12;
inline constexpr std::uint32_t kBlockBytesMax = 16U << 20U;
inline constexpr std::size_t kEventBytes =
    8 + 1 + 2 + 8 + (8 + 4 + 8 + 8 + 8 + 4 + 4 + 4 + 8) + 8 + 8 + 8 + kTraceDetailBytes;

enum class BlockKind : std::uint32_t { kBegin = 1, kName = 2, kEvents = 3, kDropped = 4, kProcess = 5, kEnd = 6 };

struct BlockPlace {
  BlockKind kind = BlockKind::kBegin;  // as it stands there: in a damaged file it may be any number
  std::uint64_t body = 0;              // offset in the file
  std::uint32_t bytes = 0;
};

// Small pieces for whoever passes over the bodies of large blocks, large ones for whoever reads all of them.
inline constexpr std::size_t kHeaderPieceBytes = 4096;
inline constexpr std::size_t kBodyPieceBytes = std::size_t{64} << 10U;

class BlockWalk {
 public:
  explicit BlockWalk(const InputFile& file) : BlockWalk(file, 0, kHeaderPieceBytes) {}
  // `begin`: offset of the first block that it gives. `piece_bytes`: the file is read in such pieces.
  BlockWalk(const InputFile& file, std::uint64_t begin, std::size_t piece_bytes)
      : file_(file), end_(begin), piece_bytes_(piece_bytes) {}

  // The next block; nothing: no whole one follows. Errors: kIo.
  [[nodiscard]] Result<std::optional<BlockPlace>> next();
  // Offset at which the blocks given so far end.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  // Returns the block's bytes, good until the next call of anything. Errors: kIo.
  [[nodiscard]] Result<std::string_view> body_of(const BlockPlace& block);

 private:
  [[nodiscard]] Result<std::string_view> bytes_at(std::uint64_t at, std::size_t count);

  const InputFile& file_;
  std::uint64_t end_;
  std::size_t piece_bytes_;
  std::string piece_;
  std::uint64_t piece_begin_ = 0;
};

// End of a file and the blocks that stand there.
struct TraceFileEnd {
  std::uint64_t bytes = 0;          // size of the whole blocks
  std::optional<BlockPlace> begin;  // begins the last life
  std::deque<BlockPlace> events;    // its last ones: no more blocks than hold as many events as were asked for
};
// Errors: kIo.
[[nodiscard]] Result<TraceFileEnd> find_end(const InputFile& file, std::uint64_t event_count);

}  // namespace shoal
