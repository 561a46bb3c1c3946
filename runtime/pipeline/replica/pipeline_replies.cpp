// Letters to the stages beside this one.
#include "runtime/pipeline/replica/pipeline_replies.h"

#include <utility>

namespace shoal {

std::uint64_t wanted_version(const Forward& message) {
  return message.purpose == Purpose::kTrain ? message.cause.step.value : message.weights_version;
}

MicrobatchWork work_of(const Forward& forward) {
  return {forward.cause.step, forward.cause.microbatch, forward.input, forward.targets};
}

void refuse(const Waiter& asker, Purpose purpose, RefusalReason reason, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  turn.send(self.upstream(asker.replica), Refusal{self.answer_to(asker.cause), self.setup.self, purpose, reason});
}

void answer(const Waiter& waiter, Backward reply, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  reply.cause = self.answer_to(waiter.cause);
  reply.sender = self.setup.self;
  reply.weights_version = self.state.version;
  turn.send(self.upstream(waiter.replica), std::move(reply));
}

void send_onward(const Forward& forward, TensorBlob activation, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  Forward onward = forward;
  onward.cause.hop = self.setup.stage.value + 1;
  onward.cause.position = self.position;
  onward.cause.term = self.term;
  onward.sender = self.setup.self;
  onward.input = std::move(activation);
  const Address next{{}, Role::kStage, StageId{self.setup.stage.value + 1}, onward.path[self.setup.stage.value + 1]};
  turn.send(next, std::move(onward));
}

}  // namespace shoal
