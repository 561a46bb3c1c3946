// Hashes names and version.
#include "runtime/trace/state_layout.h"

#include <xxhash.h>

#include "messages/cause.h"

namespace shoal {

std::uint64_t state_layout(const std::vector<std::string>& tensor_names) {
  std::string text;
  for (const std::string& name : tensor_names) text += name + "\n";
  return XXH3_64bits_withSeed(text.data(), text.size(), kProtocolVersion);
}

}  // namespace shoal
