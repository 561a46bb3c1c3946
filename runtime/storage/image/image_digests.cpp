// One pass over the bytes for both kinds of digest (see the header).
#include "runtime/storage/image/image_digests.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/storage/safetensors.h"
#include "runtime/storage/state_names.h"

namespace shoal {
namespace {

// Bytes of a header of which this much came, as far as that tells: its length first.
std::uint64_t header_bytes_wanted(const std::vector<std::byte>& header) {
  if (header.size() < kSafetensorsLengthBytes) return kSafetensorsLengthBytes;
  std::uint64_t text_bytes = 0;
  std::memcpy(&text_bytes, header.data(), kSafetensorsLengthBytes);
  return kSafetensorsLengthBytes + text_bytes;
}

}  // namespace

ImageDigests::ImageDigests(std::uint64_t byte_count, std::string where)
    : byte_count_(byte_count), where_(std::move(where)) {}

Status ImageDigests::add(std::span<const std::byte> bytes) {
  ENSURE(bytes.size() <= byte_count_ - taken_, "an image has no more bytes than were announced");
  if (!has_layout_) {
    if (auto taken = take_header(bytes); !taken) return taken;
  }
  image_.update(bytes.data(), bytes.size());
  if (has_layout_) digest_weights(bytes);
  taken_ += bytes.size();
  return Done{};
}

// A length that is too long is refused before a byte of the text is kept: what is wanted next is bounded.
Status ImageDigests::take_header(std::span<const std::byte> bytes) {
  do {
    const std::size_t count = std::min<std::uint64_t>(header_bytes_wanted(header_) - header_.size(), bytes.size());
    header_.insert(header_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    bytes = bytes.subspan(count);
    const auto layout = parse_layout(header_, byte_count_, where_);
    if (!layout) return layout.failure();
    if (!layout.value()) continue;
    choose_weights(**layout);
    has_layout_ = true;
    header_ = std::vector<std::byte>();
  } while (!has_layout_ && !bytes.empty());
  return Done{};
}

void ImageDigests::choose_weights(const ImageLayout& layout) {
  std::map<std::string, const PlacedTensor*> chosen;  // by the weight's name
  for (const PlacedTensor& tensor : layout.tensors) {
    if (is_weight_name(tensor.name)) chosen.emplace(tensor.name, &tensor);
  }
  for (const PlacedTensor& tensor : layout.tensors) {
    if (!tensor.name.starts_with(kAgreedPrefix)) continue;
    const auto weight = chosen.find(tensor.name.substr(kAgreedPrefix.size()));
    if (weight != chosen.end()) weight->second = &tensor;
  }
  for (const auto& [name, tensor] : chosen) weights_.push_back({name, tensor->begin, tensor->end});
  std::sort(weights_.begin(), weights_.end(),
            [](const Weight& a, const Weight& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
}

// Values of two weights do not overlap: one digest is under way at a time.
void ImageDigests::digest_weights(std::span<const std::byte> bytes) {
  const std::uint64_t end = taken_ + bytes.size();
  for (; next_ < weights_.size(); ++next_) {
    const Weight& weight = weights_[next_];
    const std::uint64_t from = std::max(taken_, weight.begin);
    const std::uint64_t to = std::min(end, weight.end);
    if (from < to) weight_.update(bytes.data() + (from - taken_), to - from);
    if (end < weight.end) return;
    digests_.weights[weight.name] = std::exchange(weight_, Sha256()).hex();
  }
}

ImageDigests::Digests ImageDigests::finish() {
  ENSURE(is_whole() && next_ == weights_.size(), "an image is whole before its digests are");
  digests_.image = image_.hex();
  return std::move(digests_);
}

}  // namespace shoal
