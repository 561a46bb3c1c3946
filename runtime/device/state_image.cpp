// Checks every tensor first, copies then.
#include "runtime/device/state_image.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

const PlacedTensor* find_placed(const std::vector<PlacedTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::lower_bound(tensors, name, {}, &PlacedTensor::name);
  return found != tensors.end() && found->name == name ? &*found : nullptr;
}

Result<const PlacedTensor*> place_of(const std::vector<PlacedTensor>& tensors, const StateField<float>& field) {
  const std::string name = field.part + field.name;
  const PlacedTensor* tensor = find_placed(tensors, name);
  if (tensor == nullptr) {
    return fail(Error::kInvalidData, "the state has no tensor '" + name + "'; it belongs to another model");
  }
  if (tensor->dtype != DType::kFloat32 || tensor->shape != field.shape) {
    return fail(
        Error::kInvalidData,
        "tensor '" + name + "' of the state has another type or shape than this model's; check the [model] keys");
  }
  return tensor;
}

}  // namespace

TensorBlob write_state_image(const ConstStateFields& fields) {
  std::vector<StoredTensor> tensors;
  tensors.reserve(fields.size());
  for (const auto& field : fields) {
    tensors.push_back({field.part + field.name, DType::kFloat32, field.shape, std::as_bytes(field.values)});
  }
  return build_safetensors(std::move(tensors));
}

StateImageBytes::StateImageBytes(const ConstStateFields& fields) {
  std::vector<PlacedTensor> tensors;
  std::map<std::string, std::span<const std::byte>> values;
  for (const auto& field : fields) {
    tensors.push_back({field.part + field.name, DType::kFloat32, field.shape, 0, 0});
    values[tensors.back().name] = std::as_bytes(field.values);
  }
  NewLayout made = lay_out_safetensors(std::move(tensors));
  header_ = std::move(made.header);
  byte_count_ = made.layout.byte_count;
  stretches_.push_back({0, header_});
  for (const PlacedTensor& tensor : made.layout.tensors) stretches_.push_back({tensor.begin, values.at(tensor.name)});
}

// Copies from the fields.
void StateImageBytes::copy(std::uint64_t offset, std::span<std::byte> to) const {
  auto stretch = std::prev(std::ranges::upper_bound(stretches_, offset, {}, &Stretch::begin));
  for (; !to.empty(); ++stretch) {
    const std::uint64_t skipped = offset - stretch->begin;
    const auto from = stretch->bytes.subspan(std::min<std::uint64_t>(skipped, stretch->bytes.size()));
    const std::size_t count = std::min(from.size(), to.size());
    if (count > 0) std::memcpy(to.data(), from.data(), count);
    to = to.subspan(count);
    offset += count;
  }
}

void StateImageBytes::read(std::uint64_t offset, std::span<std::byte> to) const {
  ENSURE(offset >= least_place(), "nobody reads what all readers have released");
  if (!is_kept_) return copy(offset, to);
  auto kept = kept_.upper_bound(offset);
  if (!to.empty()) --kept;
  for (; !to.empty(); ++kept) {
    const std::uint64_t skipped = offset - kept->first;
    const std::size_t count = std::min<std::uint64_t>(to.size(), kept->second.size() - skipped);
    std::memcpy(to.data(), kept->second.data() + skipped, count);
    to = to.subspan(count);
    offset += count;
  }
}

void StateImageBytes::move_on(std::uint64_t from, std::uint64_t to) {
  places_.insert(to);
  end_reading(from);
}

void StateImageBytes::end_reading(std::uint64_t place) {
  places_.erase(places_.find(place));
  drop_released();
}

void StateImageBytes::drop_released() {
  const std::uint64_t least = least_place();
  std::erase_if(kept_, [least](const auto& piece) { return piece.first + piece.second.size() <= least; });
}

std::uint64_t StateImageBytes::kept_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [begin, piece] : kept_) bytes += piece.size();
  return bytes;
}

void StateImageBytes::keep() {
  if (std::exchange(is_kept_, true)) return;
  for (std::uint64_t at = least_place(); at < byte_count_; at += kImagePieceBytes) {
    const std::size_t size = std::min<std::uint64_t>(kImagePieceBytes, byte_count_ - at);
    AlignedBuffer& piece = kept_.try_emplace(at, size).first->second;
    copy(at, {piece.data(), size});
  }
}

Result<TensorBlob> StateImageSource::read(std::uint64_t offset, std::size_t size) {
  ENSURE(offset >= released_ && offset <= byte_count(),
         "a piece is asked for that was released, or is behind the image");
  auto bytes = piece_buffer(offset, size, byte_count());
  bytes_->read(offset, {bytes->data(), bytes->size()});
  return as_piece(std::move(bytes));
}

void StateImageSource::release(std::uint64_t offset) {
  const std::uint64_t before = std::exchange(released_, std::max(released_, std::min(offset, byte_count())));
  if (released_ > before) bytes_->move_on(before, released_);
}

Status StateImageLoader::aim(const ImageLayout& layout) {
  for (const auto& field : fields_) {
    if (find_placed(layout.tensors, field.part + field.name) != nullptr) missing_.erase(field.part);
  }
  for (const auto& field : fields_) {
    if (missing_.contains(field.part)) continue;
    const auto place = place_of(layout.tensors, field);
    if (!place) return place.failure();
    targets_.push_back({place.value()->begin, std::as_writable_bytes(field.values)});
  }
  std::ranges::sort(targets_, {}, &Target::begin);
  has_layout_ = true;
  return Done{};
}

// Writes the bytes that belong to a field; `offset` is the first one's, in the image.
void StateImageLoader::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::uint64_t end = offset + bytes.size();
  auto target = std::ranges::upper_bound(targets_, offset, {}, &Target::begin);
  if (target != targets_.begin()) --target;
  for (; target != targets_.end() && target->begin < end; ++target) {
    const std::uint64_t first = std::max(offset, target->begin);
    const std::uint64_t last = std::min(end, target->begin + target->bytes.size());
    if (first >= last) continue;
    std::memcpy(target->bytes.data() + (first - target->begin), bytes.data() + (first - offset), last - first);
  }
}

Result<bool> StateImageLoader::take(std::span<const std::byte> bytes, std::uint64_t byte_count) {
  const std::uint64_t offset = std::exchange(taken_, taken_ + bytes.size());
  if (taken_ > byte_count) return fail(Error::kInvalidData, "the state image: more bytes than it should have");
  if (has_layout_) {
    write(offset, bytes);
    return taken_ == byte_count;
  }
  if (!head_.empty()) {
    head_.insert(head_.end(), bytes.begin(), bytes.end());
    bytes = head_;
  }
  const auto layout = parse_layout(bytes, byte_count, "the state image");
  if (!layout) return layout.failure();
  if (!layout.value()) {
    if (head_.empty()) head_.assign(bytes.begin(), bytes.end());
    return false;
  }
  if (auto aimed = aim(**layout); !aimed) return aimed.failure();
  write(0, bytes);
  head_ = {};
  return taken_ == byte_count;
}

}  // namespace shoal
