// Reads in pieces, so that a slow peer costs a deadline and never a buffer beyond the reader's limits.
#include "runtime/transport/control/exchange.h"

#include <vector>

namespace shoal {

constexpr std::size_t kReadBytes = 16u << 10;

Result<HttpReader::Progress> read_message(TlsSocket& socket, HttpReader& reader, Deadline deadline) {
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    const auto count = socket.read_some(buffer.data(), buffer.size(), deadline);
    if (!count.ok()) return count.failure();
    if (*count == 0) return fail(Error::kUnreachable, "The connection was closed before the message was complete.");
    const auto progress = reader.feed(std::string_view(buffer.data(), *count));
    if (progress != HttpReader::Progress::kMore) return progress;
  }
}

}  // namespace shoal
