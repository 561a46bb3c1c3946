// One piece after the other.
#include "runtime/executor/load_image.h"

#include <utility>

namespace shoal {

Status load_image(StageExecutor& executor, ImageSource& image) {
  const std::uint64_t total = image.byte_count();
  for (std::uint64_t offset = 0; offset < total;) {
    auto bytes = image.read(offset, kImagePieceBytes);
    if (!bytes) return bytes.failure();
    const std::uint64_t end = offset + bytes->byte_count();
    const auto is_whole = executor.load_piece({std::move(bytes.value()), offset, total});
    if (!is_whole) return is_whole.failure();
    offset = end;
  }
  return Done{};
}

}  // namespace shoal
