// Every length is checked against what is left before memory is touched; a record inflates to at most 64 MiB.
#include "runtime/data/r_data.h"

#include <zlib.h>

#include <cstdint>
#include <optional>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::uint32_t kInflatedBytesMax = 64U << 20U;
constexpr std::uint32_t kStringVector = 0x10;
constexpr std::uint32_t kStringType = 9;

// Takes numbers and bytes from the front; nullopt when there are too few left.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::optional<std::string_view> bytes(std::size_t count) {
    if (count > left_.size()) return std::nullopt;
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  std::optional<std::uint32_t> number() {
    const auto taken = bytes(4);
    if (!taken) return std::nullopt;
    std::uint32_t value = 0;
    for (const char byte : *taken) value = value << 8U | static_cast<std::uint8_t>(byte);
    return value;
  }
  [[nodiscard]] std::string_view left() const { return left_; }

 private:
  std::string_view left_;
};

// Inflates the zlib stream at the front of `from` and takes it off; nullopt unless it holds exactly `size` bytes.
std::optional<std::string> inflate_front(std::string_view& from, std::uint32_t size) {
  std::string inflated(size, '\0');
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) return std::nullopt;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));  // zlib only reads it
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(inflated.data());
  stream.avail_out = size;
  const int result = ::inflate(&stream, Z_FINISH);
  const uLong written = stream.total_out;
  from.remove_prefix(from.size() - stream.avail_in);
  ::inflateEnd(&stream);
  if (result != Z_STREAM_END || written != size) return std::nullopt;
  return inflated;
}

// Skips the header; false unless it is XDR of version 2 or 3.
bool skip_header(Reader& reader) {
  if (reader.bytes(2) != std::string_view("X\n")) return false;
  const auto version = reader.number();
  if (!reader.number() || !reader.number()) return false;
  if (version == 2U) return true;
  if (version != 3U) return false;
  const auto encoding_size = reader.number();
  return encoding_size && reader.bytes(*encoding_size);
}

std::optional<std::vector<std::string>> read_strings(std::string_view inflated) {
  Reader reader(inflated);
  if (!skip_header(reader) || reader.number() != kStringVector) return std::nullopt;
  const auto count = reader.number();
  if (!count) return std::nullopt;
  std::vector<std::string> strings;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto flags = reader.number();
    const auto size = reader.number();
    if (!flags || (*flags & 0xFFU) != kStringType || !size) return std::nullopt;
    const auto text = reader.bytes(*size);  // NA's size, -1, is larger than anything
    if (!text) return std::nullopt;
    strings.emplace_back(*text);
  }
  if (!reader.left().empty()) return std::nullopt;
  return strings;
}

}  // namespace

Result<std::vector<std::vector<std::string>>> read_r_string_vectors(std::string_view rdb) {
  std::vector<std::vector<std::string>> records;
  const auto invalid = [&records](const char* what) {
    return fail(Error::kInvalidData, compose("record ", records.size() + 1, " of the R database: ", what));
  };
  if (rdb.size() > kInflatedBytesMax) return invalid("the file is larger than 64 MiB");
  while (!rdb.empty()) {
    Reader reader(rdb);
    const auto size = reader.number();
    if (!size || *size > kInflatedBytesMax) return invalid("no valid size");
    rdb = reader.left();
    const auto inflated = inflate_front(rdb, *size);
    if (!inflated) return invalid("its zlib stream is damaged or of another size than stated");
    auto strings = read_strings(*inflated);
    if (!strings) return invalid("not a plain vector of strings");
    records.push_back(std::move(*strings));
  }
  return records;
}

}  // namespace shoal
