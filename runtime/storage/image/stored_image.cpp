// Runs of tensors are read at once: a file's tensors follow each other by name, as an image's do.
#include "runtime/storage/image/stored_image.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// The length of a header's text, which is the first thing in an image.
std::uint64_t text_bytes_of(std::span<const std::byte, 8> first) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, first.data(), first.size());
  return bytes;
}

}  // namespace

// The eight bytes of its length are enough to refuse a header that is too long: memory is taken for one that is not.
Result<std::vector<FiledTensor>> tensors_in(const std::shared_ptr<const VerifiedFile>& file) {
  std::array<std::byte, 8> length{};
  const auto first = std::span(length).first(std::min<std::uint64_t>(length.size(), file->byte_count()));
  if (auto read = file->read(0, first); !read) return read.failure();
  auto layout = parse_layout(first, file->byte_count(), file->path());
  if (!layout) return layout.failure();
  if (!layout.value()) {
    std::vector<std::byte> header(length.size() + text_bytes_of(length));
    if (auto read = file->read(0, header); !read) return read.failure();
    layout = parse_layout(header, file->byte_count(), file->path());
    if (!layout) return layout.failure();
  }
  ENSURE(layout.value().has_value(), "a whole header has a layout");
  std::vector<FiledTensor> tensors;
  for (PlacedTensor& place : (*layout)->tensors) tensors.push_back({std::move(place), file});
  return tensors;
}

StoredImage::StoredImage(std::vector<FiledTensor> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.place.name < b.place.name; });
  std::vector<PlacedTensor> places;
  for (const FiledTensor& tensor : tensors) places.push_back(tensor.place);
  NewLayout made = lay_out_safetensors(std::move(places));
  header_ = std::move(made.header);
  byte_count_ = header_.size();
  for (const FiledTensor& tensor : tensors) append(tensor);
  ENSURE(byte_count_ == made.layout.byte_count, "the places of an image's tensors agree with their shapes");
}

void StoredImage::append(const FiledTensor& tensor) {
  const std::uint64_t size = tensor.place.end - tensor.place.begin;
  if (size == 0) return;
  if (!runs_.empty() && runs_.back().file == tensor.file && runs_.back().end == tensor.place.begin) {
    runs_.back().end = tensor.place.end;
  } else {
    runs_.push_back({byte_count_, tensor.file, tensor.place.begin, tensor.place.end});
  }
  byte_count_ += size;
}

Result<TensorBlob> StoredImage::read(std::uint64_t offset, std::size_t size) {
  ENSURE(offset <= byte_count_, "a piece begins within its image");
  auto bytes = piece_buffer(offset, size, byte_count_);
  if (auto filled = fill(offset, {bytes->data(), bytes->size()}); !filled) return filled.failure();
  return as_piece(std::move(bytes));
}

Status StoredImage::fill(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset < header_.size() && !into.empty()) {
    const std::size_t count = std::min<std::size_t>(header_.size() - offset, into.size());
    std::memcpy(into.data(), header_.data() + offset, count);
    offset += count;
    into = into.subspan(count);
  }
  auto run = std::upper_bound(runs_.begin(), runs_.end(), offset,
                              [](std::uint64_t at, const Run& one) { return at < one.at; });
  for (; !into.empty(); ++run) {
    const Run& one = *(run - 1);
    const std::uint64_t begin = one.begin + (offset - one.at);
    const std::size_t count = std::min<std::uint64_t>(one.end - begin, into.size());
    if (auto read = one.file->read(begin, into.first(count)); !read) return read;
    offset += count;
    into = into.subspan(count);
  }
  return Done{};
}

}  // namespace shoal
