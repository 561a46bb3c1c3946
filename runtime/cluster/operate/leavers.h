// Keeps the processes that were told to leave (`shoal drain`, SIGTERM of a node) and still work; also one that died
// before or meanwhile: its keeper starts it again, and it is told again. Pure. Bounded by the nodes that leave and die.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "messages/ids.h"
#include "runtime/base/clock.h"

namespace shoal {

class Leavers {
 public:
  // remembered: for so long after its death a node that comes back is meant by what its last life was told.
  explicit Leavers(Duration remembered) : remembered_(remembered) {}

  void add(ProcessIncarnation process, const std::string& name, const std::string& reason) {
    leaving_[process] = {name, reason};
  }
  [[nodiscard]] bool contains(ProcessIncarnation process) const { return leaving_.contains(process); }
  [[nodiscard]] bool empty() const { return leaving_.empty(); }
  // Why it leaves; nothing: it does not.
  [[nodiscard]] std::optional<std::string> reason_of(ProcessIncarnation process) const {
    const auto leaver = leaving_.find(process);
    return leaver == leaving_.end() ? std::nullopt : std::optional(leaver->second.reason);
  }
  // By process: why it leaves.
  [[nodiscard]] std::map<ProcessIncarnation, std::string> all() const {
    std::map<ProcessIncarnation, std::string> reasons;
    for (const auto& [process, leaver] : leaving_) reasons[process] = leaver.reason;
    return reasons;
  }
  // The leaver may go now, and is waited for no more.
  void gone(ProcessIncarnation process) { leaving_.erase(process); }
  void died(ProcessIncarnation process, Instant now) {
    const auto leaver = leaving_.extract(process);
    if (!leaver.empty()) died_[leaver.mapped().name] = {now, leaver.mapped().reason};
  }
  // A device of this name was lost, and its node is to leave.
  void expect(const std::string& name, const std::string& reason, Instant now) { died_[name] = {now, reason}; }
  // A process of this name joins: why it is to leave at once; nothing: it is welcome.
  [[nodiscard]] std::optional<std::string> take_returned(const std::string& name, Instant now) {
    std::erase_if(died_, [&](const auto& one) { return now - one.second.at >= remembered_; });
    const auto dead = died_.extract(name);
    return dead.empty() ? std::nullopt : std::optional(dead.mapped().reason);
  }

 private:
  struct Leaver {
    std::string name;
    std::string reason;
  };
  struct Death {
    Instant at;
    std::string reason;
  };

  Duration remembered_;
  std::map<ProcessIncarnation, Leaver> leaving_;
  std::map<std::string, Death> died_;
};

}  // namespace shoal
