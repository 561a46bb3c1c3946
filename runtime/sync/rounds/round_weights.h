// RoundWeights: what contributions weigh, fragment by fragment: the tokens that a member, and the others of its stage,
// were trained on since the fragment's last contribution (DESIGN.md §6). A contribution takes them all, once. Pure.
#pragma once

#include <cstdint>
#include <map>

namespace shoal {

struct RoundTokens {
  std::uint64_t own = 0;
  std::uint64_t others = 0;
};

class RoundWeights {
 public:
  // An own step was trained on so many tokens, of so many of the whole stage; it is in every fragment.
  void trained(std::uint64_t tokens, std::uint64_t tokens_of_stage, std::uint32_t fragment_count);
  // Returns the own ones: what the contribution weighs. One that no wire format can carry weighs nothing.
  std::uint64_t contribute(std::uint32_t fragment, bool is_carriable);
  // Those of the contribution taken last.
  [[nodiscard]] RoundTokens newest(std::uint32_t fragment) const;
  void clear() { since_.clear(), newest_.clear(); }

 private:
  std::map<std::uint32_t, RoundTokens> since_;
  std::map<std::uint32_t, RoundTokens> newest_;
};

}  // namespace shoal
