// The effects that a node agent's core returns: what the actor does with router, stages and process.
//
// They are performed in order, each completely before the next.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "messages/letter.h"
#include "messages/values/one_of.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"

namespace shoal {

struct TellSupervisor {
  MessageBody body;
};
// The process was welcomed: its router is told.
struct TellNumber {
  Welcome welcome;
};
// The log level of the run is this process's.
struct UseLogLevel {
  LogLevel level = LogLevel::kInfo;
};
// Answered by NodeCore::stage_started() or start_failed().
struct StartStage {
  SpawnStage order;
};
// Its end is heard of as that of any stage. reason: none, where it is an ordinary end.
struct StopStage {
  Incarnation replica;
  std::optional<std::string> reason;
};
// The stage has ended: nothing of it is left in router and board.
struct ForgetStage {
  SpawnStage order;
  std::string name;
};
// Answered by NodeCore::stage_answered(), if the stage lives.
struct AskStage {
  Incarnation replica;
};
struct LookAgain {
  Duration pause{};
};
// Waits until all that this process wrote has arrived at storage.
struct AwaitStorage {};
struct EndThisProcess {
  int status = 0;
  std::string reason;
};
// The process ends at once, whatever its actors are at.
struct GiveUpProcess {
  std::string reason;
};
// An injection, of this actor or of the process.
struct FailOnPurpose {
  Inject order;
};

using NodeEffect = OneOf<TellSupervisor, TellNumber, UseLogLevel, StartStage, StopStage, ForgetStage, AskStage,
                         LookAgain, AwaitStorage, EndThisProcess, GiveUpProcess, FailOnPurpose>;
using NodeEffects = std::vector<NodeEffect>;

}  // namespace shoal
