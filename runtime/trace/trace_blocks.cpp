// One piece of the file is kept: small blocks lie in it by the dozen, the bodies of large ones are passed over.
#include "runtime/trace/trace_blocks.h"

#include <algorithm>
#include <cstring>

namespace shoal {
namespace {

std::uint64_t events_in(const BlockPlace& block) { return (block.bytes + kEventBytes - 1) / kEventBytes; }

}  // namespace

// Fewer than `count` where the file ends.
Result<std::string_view> BlockWalk::bytes_at(std::uint64_t at, std::size_t count) {
  const bool is_there = at >= piece_begin_ && at + count <= piece_begin_ + piece_.size();
  if (!is_there) {
    const std::uint64_t left = file_.size - std::min(at, file_.size);
    piece_.resize(std::max<std::size_t>(count, std::min<std::uint64_t>(piece_bytes_, left)));
    const auto read = file_.read_at(at, piece_);
    if (!read) return read.failure();
    piece_.resize(*read);
    piece_begin_ = at;
  }
  return std::string_view(piece_).substr(at - piece_begin_, count);
}

Result<std::optional<BlockPlace>> BlockWalk::next() {
  const auto header = bytes_at(end_, kBlockHeaderBytes);
  if (!header) return header.failure();
  if (header->size() < kBlockHeaderBytes || !header->starts_with(kBlockMagic)) return std::optional<BlockPlace>();
  BlockPlace block{{}, end_ + kBlockHeaderBytes, 0};
  std::memcpy(&block.kind, header->data() + kBlockMagic.size(), sizeof block.kind);
  std::memcpy(&block.bytes, header->data() + kBlockMagic.size() + sizeof block.kind, sizeof block.bytes);
  const bool is_whole = block.bytes <= kBlockBytesMax && block.body + block.bytes <= file_.size;
  if (!is_whole) return std::optional<BlockPlace>();
  end_ = block.body + block.bytes;
  return std::optional(block);
}

Result<std::string_view> BlockWalk::body_of(const BlockPlace& block) { return bytes_at(block.body, block.bytes); }

Result<TraceFileEnd> find_end(const InputFile& file, std::uint64_t event_count) {
  TraceFileEnd end;
  std::uint64_t kept = 0;
  for (BlockWalk walk(file);;) {
    const auto block = walk.next();
    if (!block) return block.failure();
    if (!*block) break;
    end.bytes = walk.end();
    if ((*block)->kind == BlockKind::kBegin) {
      end.begin = **block;
      end.events.clear();
      kept = 0;
    }
    if ((*block)->kind != BlockKind::kEvents || (*block)->bytes == 0) continue;
    end.events.push_back(**block);
    kept += events_in(**block);
    while (kept - events_in(end.events.front()) >= event_count) {
      kept -= events_in(end.events.front());
      end.events.pop_front();
    }
  }
  return end;
}

}  // namespace shoal
