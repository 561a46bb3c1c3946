// The SHA-256s of a stage's shard whose bytes come one after the other: of the whole image, and of each of its weights.
//
// The header is checked as soon as it is there, before any byte behind it is taken. Held of the image: its header,
// until it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/sha256.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

class ImageDigests {
 public:
  // where: names the image in sentences.
  ImageDigests(std::uint64_t byte_count, std::string where);

  // Takes the next bytes, no more than the image has (ENSURE). Errors: kInvalidData as parse_safetensors(); nothing is
  // taken after one.
  [[nodiscard]] Status add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t byte_count() const { return byte_count_; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  // True when all bytes came, and the header with them.
  [[nodiscard]] bool is_whole() const { return has_layout_ && taken_ == byte_count_; }

  // Hex, of a whole image (ENSURE), once. A weight's is that of its agreed values where the image has these.
  struct Digests {
    std::string image;
    std::map<std::string, std::string> weights;
  };
  [[nodiscard]] Digests finish();

 private:
  struct Weight {
    std::string name;
    std::uint64_t begin = 0;  // of its values in the image
    std::uint64_t end = 0;
  };

  [[nodiscard]] Status take_header(std::span<const std::byte> bytes);
  void choose_weights(const ImageLayout& layout);
  void digest_weights(std::span<const std::byte> bytes);

  std::uint64_t byte_count_;
  std::string where_;
  std::vector<std::byte> header_;  // as much as came; empty once it was whole
  bool has_layout_ = false;
  std::vector<Weight> weights_;  // in the order of their values
  std::size_t next_ = 0;         // of those, the first whose values are not complete
  std::uint64_t taken_ = 0;
  Sha256 image_;
  Sha256 weight_;  // of the next one
  Digests digests_;
};

}  // namespace shoal
