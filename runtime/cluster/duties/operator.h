// Does what a person orders by the names that `shoal ps` shows, and tells the person at the terminal why nothing is
// trained.
//
// Errors are answers: an unknown name, a run that is over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/cluster/number_block.h"
#include "runtime/cluster/operate/run_actors.h"
#include "runtime/cluster/operate/targets.h"
#include "runtime/cluster/truth/truth.h"
#include "runtime/cluster/watch/waiting_notice.h"

namespace shoal {

// The answer to a person, and what follows from the order.
struct Obeyed {
  OperatorAnswer answer;
  std::uint64_t injection = 0;  // its number; 0: none was made
  Answers answers = {};
};

class OperatorDuty {
 public:
  OperatorDuty(const Truth& truth, ReservedNumbers& numbers) : truth_(truth), numbers_(numbers) {}

  [[nodiscard]] Obeyed obey(const OperatorOrder& order, Instant now);
  [[nodiscard]] std::vector<Target> targets() const;
  // own: what the board of this process says. Sorted: the spawner's first, then by node.
  [[nodiscard]] std::vector<ActorLine> actors(const std::vector<ActorHealth>& own) const;

  // "; stage/1 ended: device cuda:0: it hangs, since 12 s"; empty: no replica that served has.
  [[nodiscard]] std::string explain_last_end(Instant now) const;

  [[nodiscard]] Answers on(const TickCame& tick, Instant now);
  [[nodiscard]] Answers on(const StageEnded& ended, Instant now);

 private:
  [[nodiscard]] RunActors who_is_there() const;
  [[nodiscard]] Obeyed not_there(const OperatorOrder& order, const std::string& failure) const;
  [[nodiscard]] Obeyed drain(const OperatorOrder& order) const;
  [[nodiscard]] Obeyed inject(const OperatorOrder& order, const Target& target, Instant now);
  [[nodiscard]] Obeyed nobody_to_evict(const OperatorOrder& order) const;
  [[nodiscard]] Obeyed evict(const OperatorOrder& order) const;

  const Truth& truth_;
  ReservedNumbers& numbers_;
  ToldToEnd told_to_end_;
  WaitingNotice notice_;
  struct LastEnd {
    StageEnded told;
    Instant at;
  };
  std::optional<LastEnd> last_end_;
};

}  // namespace shoal
