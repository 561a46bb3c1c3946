// Cutting and putting together, with every check of a frame before memory is taken for it.
#include "runtime/transport/assembly.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <xxhash.h>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

void put_be(char* to, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) to[i] = static_cast<char>(value >> (8 * (width - 1 - i)) & 0xFFU);
}

[[nodiscard]] std::uint64_t get_be(const char* from, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value = value << 8U | static_cast<std::uint8_t>(from[i]);
  return value;
}

[[nodiscard]] std::uint32_t checksum_of(std::span<const char> frame) {
  return static_cast<std::uint32_t>(XXH3_64bits(frame.data() + 4, frame.size() - 4));
}

[[nodiscard]] std::vector<char> preamble_of(const EncodedLetter& letter) {
  std::vector<char> preamble(12 + 8 * letter.buffers.size());
  put_be(preamble.data(), letter.buffers.size(), 4);
  put_be(preamble.data() + 4, letter.bytes.size(), 8);
  for (std::size_t i = 0; i < letter.buffers.size(); ++i) {
    put_be(preamble.data() + 12 + 8 * i, letter.buffers[i]->size(), 8);
  }
  return preamble;
}

}  // namespace

std::size_t byte_count(const EncodedLetter& letter) {
  std::size_t size = letter.bytes.size();
  for (const auto& buffer : letter.buffers) size += buffer->size();
  return size;
}

std::uint64_t payload_size_in(std::span<const char> header) { return get_be(header.data() + 4, 4); }

Cutter::Cutter(EncodedLetter letter, std::uint64_t transfer, std::size_t frame_bytes)
    : letter_(std::move(letter)),
      preamble_(preamble_of(letter_)),
      transfer_(transfer),
      frame_bytes_(frame_bytes),
      total_(preamble_.size() + byte_count(letter_)) {
  ENSURE(frame_bytes_ <= kFrameBytesMax, "a frame is no longer than all frames may be");
  ENSURE(kFrameHeaderBytes + preamble_.size() <= frame_bytes_, "a letter's preamble fits one frame");
}

void Cutter::next(std::vector<char>& frame) {
  const std::uint64_t payload = std::min<std::uint64_t>(frame_bytes_ - kFrameHeaderBytes, total_ - offset_);
  frame.resize(kFrameHeaderBytes + payload);
  char* to = frame.data() + kFrameHeaderBytes;
  std::uint64_t left = payload;
  std::uint64_t skip = offset_;
  const auto copy = [&](const char* piece, std::uint64_t size) {
    const std::uint64_t begin = std::min(skip, size);
    const std::uint64_t step = std::min(left, size - begin);
    if (step > 0) std::memcpy(to, piece + begin, step);
    skip -= begin;
    left -= step;
    to += step;
  };
  copy(preamble_.data(), preamble_.size());
  copy(letter_.bytes.data(), letter_.bytes.size());
  for (const auto& buffer : letter_.buffers) copy(reinterpret_cast<const char*>(buffer->data()), buffer->size());
  put_be(frame.data() + 4, payload, 4);
  put_be(frame.data() + 8, transfer_, 8);
  put_be(frame.data() + 16, offset_, 8);
  put_be(frame.data() + 24, total_, 8);
  put_be(frame.data(), checksum_of(frame), 4);
  offset_ += payload;
}

void cut(const EncodedLetter& letter, std::uint64_t transfer, const std::function<void(std::vector<char>)>& put) {
  for (Cutter cutter(letter, transfer); !cutter.is_done();) {
    std::vector<char> frame;
    cutter.next(frame);
    put(std::move(frame));
  }
}

Result<Assembler::Header> Assembler::check_header(std::span<const char> frame) const {
  const auto refuse = [](const auto&... why) { return fail(Error::kInvalidData, compose("frame: ", why...)); };
  if (frame.size() <= kFrameHeaderBytes) return refuse("too short, ", frame.size(), " bytes");
  if (frame.size() > kFrameBytesMax) return refuse("too long, ", frame.size(), " bytes");
  if (payload_size_in(frame) != frame.size() - kFrameHeaderBytes) return refuse("its length is not as announced");
  if (get_be(frame.data(), 4) != checksum_of(frame)) return refuse("checksum");
  const Header header{get_be(frame.data() + 8, 8), get_be(frame.data() + 16, 8), get_be(frame.data() + 24, 8)};
  const std::uint64_t payload = frame.size() - kFrameHeaderBytes;
  if (header.offset > header.total || payload > header.total - header.offset)
    return refuse("beyond its transfer's end");
  const auto known = open_.find(header.transfer);
  if (known == open_.end() && header.offset != 0) return refuse("in the middle of a transfer that has not begun");
  if (known == open_.end() && open_.size() >= limits_.transfers_max) return refuse("too many transfers at once");
  if (known != open_.end() && known->second.total != header.total) return refuse("its transfer had another size");
  if (known != open_.end() && known->second.received != header.offset) return refuse("out of order");
  return header;
}

Status Assembler::open(const Header& header, std::span<const char> payload, Instant now) {
  const auto refuse = [](const auto&... why) { return fail(Error::kInvalidData, compose("transfer: ", why...)); };
  if (payload.size() < 12) return refuse("no preamble");
  const std::uint64_t count = get_be(payload.data(), 4);
  const std::uint64_t letter_size = get_be(payload.data() + 4, 8);
  if (count > limits_.buffers_max) return refuse(count, " buffers");
  if (letter_size > limits_.letter_bytes_max) return refuse("a letter of ", letter_size, " bytes");
  const std::uint64_t preamble = 12 + 8 * count;
  if (payload.size() < preamble) return refuse("a preamble cut short");
  std::uint64_t content = letter_size;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 0; i < count; ++i) {
    sizes.push_back(get_be(payload.data() + 12 + 8 * i, 8));
    if (sizes.back() > limits_.buffer_bytes_max) return refuse("a buffer of ", sizes.back(), " bytes");
    content += sizes.back();  // at most buffers_max x buffer_bytes_max: no overflow
  }
  if (content != header.total - preamble || header.total < preamble) return refuse("its parts do not add up");
  if (content > limits_.open_bytes_max - std::min(open_bytes_, limits_.open_bytes_max)) {
    return refuse("more than ", limits_.open_bytes_max, " bytes under way");
  }
  Transfer transfer{header.total, preamble, preamble, letter_size, {}, {}, now, now};
  for (const std::uint64_t size : sizes) transfer.buffers.emplace_back(size);
  open_bytes_ += content;
  open_.emplace(header.transfer, std::move(transfer));
  return Done{};
}

// Appends to what has been received; the payload does not reach beyond the transfer's end (checked).
Status Assembler::place(Transfer& transfer, std::span<const char> payload) {
  std::uint64_t begin = transfer.preamble;
  const auto fill = [&](std::uint64_t size, const auto& append) {
    if (!payload.empty() && transfer.received < begin + size) {
      const std::uint64_t step = std::min<std::uint64_t>(payload.size(), begin + size - transfer.received);
      append(payload.first(step));
      payload = payload.subspan(step);
      transfer.received += step;
    }
    begin += size;
  };
  try {
    fill(transfer.letter_size, [&transfer](std::span<const char> bytes) {
      transfer.letter.insert(transfer.letter.end(), bytes.begin(), bytes.end());
    });
    for (ArrivingBuffer& buffer : transfer.buffers) {
      fill(buffer.size(), [&buffer](std::span<const char> bytes) { buffer.append(bytes); });
    }
  } catch (const std::bad_alloc&) {
    return fail(Error::kInvalidData, compose("transfer: no memory for ", transfer.total, " bytes"));
  }
  return Done{};
}

// Shows a letter under way, with its tensors by their sizes alone. The memory in their place is never touched, so it
// costs nothing; where the system refuses even that, nothing is told.
void Assembler::note_news(Transfer& transfer, Instant now) {
  const std::uint64_t before_tensors = transfer.preamble + transfer.letter_size;
  if (transfer.received < before_tensors || now - transfer.told < kNewsEvery) return;
  transfer.told = now;
  Arriving news{{transfer.letter, {}}, transfer.received - before_tensors, now - transfer.began};
  try {
    for (const ArrivingBuffer& buffer : transfer.buffers) {
      news.letter.buffers.push_back(std::make_shared<AlignedBuffer>(buffer.size()));
    }
  } catch (const std::bad_alloc&) {
    return;
  }
  news_ = std::move(news);
}

std::uint64_t Assembler::memory() const {
  std::uint64_t sum = 0;
  for (const auto& [number, transfer] : open_) {
    sum += transfer.letter.capacity();
    for (const ArrivingBuffer& buffer : transfer.buffers) sum += buffer.memory();
  }
  return sum;
}

void ArrivingBuffer::make_room(std::uint64_t size) {
  if (memory_ && memory_->size() >= size) return;
  const std::uint64_t wanted = std::max({size, kGrowth * have_, kFirstBytesMax});
  auto larger = std::make_shared<AlignedBuffer>(std::min(wanted, size_));
  if (have_ > 0) std::memcpy(larger->data(), memory_->data(), have_);
  memory_ = std::move(larger);
}

void ArrivingBuffer::append(std::span<const char> bytes) {
  if (bytes.empty()) return;
  make_room(have_ + bytes.size());
  std::memcpy(memory_->data() + have_, bytes.data(), bytes.size());
  have_ += bytes.size();
}

SharedBuffer ArrivingBuffer::take() {
  ENSURE(have_ == size_, "a tensor is whole before it is anybody's");
  if (!memory_) memory_ = std::make_shared<AlignedBuffer>(0);
  return std::move(memory_);
}

Result<std::optional<Assembled>> Assembler::accept(std::span<const char> frame, Instant now) {
  news_.reset();
  const Result<Header> header = check_header(frame);
  if (!header) return header.failure();
  std::span<const char> payload = frame.subspan(kFrameHeaderBytes);
  if (!open_.contains(header->transfer)) {
    const Status opened = open(*header, payload, now);
    if (!opened) return opened.failure();
    payload = payload.subspan(open_.at(header->transfer).preamble);
  }
  Transfer& transfer = open_.at(header->transfer);
  if (const Status placed = place(transfer, payload); !placed) return placed.failure();
  if (transfer.received < transfer.total) {
    note_news(transfer, now);
    return std::optional<Assembled>{};
  }
  Assembled whole{std::move(transfer.letter), {}, now - transfer.began};
  for (ArrivingBuffer& buffer : transfer.buffers) whole.buffers.push_back(buffer.take());
  open_bytes_ -= transfer.total - transfer.preamble;
  open_.erase(header->transfer);
  return std::optional(std::move(whole));
}

}  // namespace shoal
