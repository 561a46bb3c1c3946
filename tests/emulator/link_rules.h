// Rules that say what is wrong with which link, in words, now or for a while.
//
//   command := VERB NAME ARROW NAME [KEY=VALUE]...     NAME: of a process (node1, spawner, storage), or *
//   ARROW   := ->  one way | <->  both ways
//   shape     delay_ms jitter_ms bytes_per_s corrupt_per_mib duplicate_per_mib; a key that is not named stays
//   cut       nothing arrives, and nobody is told; for_ms: heals by itself
//   stall     nothing is taken from the sender; for_ms
//   heal      whole again: every fault above is over
//   corrupt   flips one bit of what comes next on every connection there · duplicate  sends a segment twice
//   reset     resets every connection there, both ways
//
// Later words win over earlier ones. Pure: the emulator acts on what faults() says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "tests/emulator/faulty_pipe.h"

namespace shoal {

enum class LinkVerb : std::uint8_t { kShape, kCut, kStall, kHeal, kCorrupt, kDuplicate, kReset };

struct LinkCommand {
  LinkVerb verb = LinkVerb::kHeal;
  std::string from;
  std::string to;
  bool is_both_ways = false;
  std::map<std::string, double> values;

  // True when it concerns what `sender` sends to `receiver`.
  [[nodiscard]] bool concerns(const std::string& sender, const std::string& receiver) const;
};

// Errors: kUsage, naming what was expected.
[[nodiscard]] Result<LinkCommand> parse_link_command(std::string_view text);

class LinkRules {
 public:
  void apply(LinkCommand command, Instant now);
  [[nodiscard]] LinkFaults faults(const std::string& sender, const std::string& receiver, Instant now) const;
  // Returns when a cut or stall heals by itself next.
  [[nodiscard]] std::optional<Instant> next_change(Instant now) const;

 private:
  struct Rule {
    LinkCommand command;
    std::optional<Instant> until;
  };
  std::vector<Rule> rules_;
};

}  // namespace shoal
