// The file image of a stage's state: named float32 tensors that lie in buffers of this process.
//
// A part is what shares a prefix: weights (""), an average, the outer parameters. Reading takes every tensor of a part
// or, where the image has none of it and the part may lack, none. Torch-free.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "messages/tensor_blob.h"
#include "runtime/base/error.h"
#include "runtime/device/flat_layout.h"
#include "runtime/storage/image/image_source.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

// Value: float, or const float where it is only read.
template <class Value>
struct StateField {
  std::string part;  // prefix; the tensor's name in the image is part + name
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<Value> values;
};

using StateFields = std::vector<StateField<float>>;
using ConstStateFields = std::vector<StateField<const float>>;

// Appends every tensor of the layout, in `buffer`, as one part. Buffer: FlatBuffer<float>, const or not.
template <class Value, class Buffer>
void add_part(std::vector<StateField<Value>>& fields, const FlatLayout& layout, const std::string& part,
              Buffer& buffer) {
  for (const FlatTensor& tensor : layout.tensors) {
    fields.push_back({part, tensor.spec.name, tensor.spec.shape, buffer.of(tensor)});
  }
}

// safetensors, uint8 [n].
[[nodiscard]] TensorBlob write_state_image(const ConstStateFields& fields);

// The bytes of the image that write_state_image() makes, for all who read one version of the state: they lie in the
// fields themselves. Before the values of these change keep() copies, once for all readers, what one of them has not
// released: readers cost no memory while the state rests, and one image at most.
class StateImageBytes {
 public:
  explicit StateImageBytes(const ConstStateFields& fields);
  StateImageBytes(const StateImageBytes&) = delete;
  StateImageBytes& operator=(const StateImageBytes&) = delete;

  [[nodiscard]] std::uint64_t byte_count() const { return byte_count_; }
  // Reads the bytes from `offset` on, which is not before the place of the slowest reader (ensured): what lies before
  // that may be gone.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  void keep();
  [[nodiscard]] std::uint64_t kept_bytes() const;

  // A reader reads from its place on: it begins at 0, moves on, and ends.
  void begin_reading() { places_.insert(0); }
  void move_on(std::uint64_t from, std::uint64_t to);
  void end_reading(std::uint64_t place);

 private:
  struct Stretch {
    std::uint64_t begin = 0;  // in the image
    std::span<const std::byte> bytes;
  };
  void copy(std::uint64_t offset, std::span<std::byte> to) const;
  // The place that no reader is before.
  [[nodiscard]] std::uint64_t least_place() const { return places_.empty() ? byte_count_ : *places_.begin(); }
  void drop_released();

  std::vector<std::byte> header_;
  std::vector<Stretch> stretches_;  // ascending, without a gap
  std::uint64_t byte_count_ = 0;
  std::multiset<std::uint64_t> places_;          // of its readers
  std::map<std::uint64_t, AlignedBuffer> kept_;  // by their first byte
  bool is_kept_ = false;
};

// One reader of them.
class StateImageSource final : public ImageSource {
 public:
  explicit StateImageSource(std::shared_ptr<StateImageBytes> bytes) : bytes_(std::move(bytes)) {
    bytes_->begin_reading();
  }
  ~StateImageSource() override { bytes_->end_reading(released_); }

  [[nodiscard]] std::uint64_t byte_count() const override { return bytes_->byte_count(); }
  [[nodiscard]] Result<TensorBlob> read(std::uint64_t offset, std::size_t size) override;
  void release(std::uint64_t offset) override;
  [[nodiscard]] const StateImageBytes& bytes() const { return *bytes_; }

 private:
  std::shared_ptr<StateImageBytes> bytes_;
  std::uint64_t released_ = 0;
};

// Takes an image that comes in pieces of any size, and writes its tensors into the fields. It may hold other tensors,
// and lack those of `optional` parts. Nothing is written before the whole header was found to fit.
class StateImageLoader {
 public:
  StateImageLoader(StateFields fields, std::set<std::string> optional)
      : fields_(std::move(fields)), missing_(std::move(optional)) {}

  // The next bytes of an image of `byte_count`. True: they were the last. Errors: kInvalidData naming the tensor.
  [[nodiscard]] Result<bool> take(std::span<const std::byte> bytes, std::uint64_t byte_count);
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  // The parts that the image lacks: a subset of `optional`.
  [[nodiscard]] const std::set<std::string>& missing() const { return missing_; }

 private:
  struct Target {
    std::uint64_t begin = 0;  // in the image
    std::span<std::byte> bytes;
  };
  [[nodiscard]] Status aim(const ImageLayout& layout);
  void write(std::uint64_t offset, std::span<const std::byte> bytes);

  StateFields fields_;
  std::set<std::string> missing_;
  std::vector<std::byte> head_;  // until the header is whole
  bool has_layout_ = false;
  std::vector<Target> targets_;  // ascending
  std::uint64_t taken_ = 0;
};

}  // namespace shoal
