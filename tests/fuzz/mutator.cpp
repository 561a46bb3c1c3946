// Bits, bytes, numbers at their edges, pieces left out, doubled or taken from another sample.
#include "tests/fuzz/mutator.h"

#include <algorithm>

#include "tests/fuzz/harness.h"

namespace shoal::fuzz {
namespace {

constexpr std::uint64_t kEdges[] = {0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x100000000, ~0ULL};
constexpr std::size_t kPieceMax = 64;

}  // namespace

std::string Mutator::next() {
  std::string input = samples_[below(samples_.size())];
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(input);
  return input;
}

void Mutator::change(std::string& input) {
  const std::size_t at = below(input.size());
  const std::size_t length = std::min(input.size() - at, 1 + below(kPieceMax));
  switch (below(7)) {
    case 0: input[at] = static_cast<char>(input[at] ^ (1 << below(8))); break;
    case 1: input[at] = static_cast<char>(below(256)); break;
    case 2: {
      std::string number;
      append_number(number, kEdges[below(std::size(kEdges))], std::size_t{1} << below(4));
      if (below(2) == 0) std::ranges::reverse(number);
      input.replace(at, std::min(input.size() - at, number.size()), number);
      break;
    }
    case 3: input.erase(at, length); break;
    case 4: input.insert(at, input.substr(at, length)); break;
    case 5: input.resize(at); break;
    default: {
      const std::string& other = samples_[below(samples_.size())];
      input.replace(at, length, other.substr(below(other.size()), 1 + below(kPieceMax)));
    }
  }
  if (input.empty()) input.push_back('\0');
}

}  // namespace shoal::fuzz
