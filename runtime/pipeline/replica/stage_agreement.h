// Agreement of a stage's members, from the order that asks for it to the digest that all of them must have: the
// sum of a step (step_agreement.h), or the mean of a round (round_agreement.h).
//
//   Prepare ──▶ Manifest      Reduce ──▶ Part to other members, until the sum is whole ──▶ Reduced
//   PartsSent ──▶ MissingParts ──▶ what was lost on its way      Progress: a piece of a part came (from its own router)
//
// Orders and parts name which one of the two they are about; agreement of the one says nothing of the other.
#pragma once

#include "messages/sync.h"
#include "runtime/pipeline/replica/replica_turn.h"
#include "runtime/sync/reduction.h"

namespace shoal {

class StageAgreement {
 public:
  virtual ~StageAgreement() = default;

  virtual void hear(const Prepare& order, ReplicaTurn& turn) = 0;
  virtual void hear(const Reduce& order, ReplicaTurn& turn) = 0;
  virtual void hear(const Part& part, ReplicaTurn& turn) = 0;
  virtual void hear(const PartsSent& mark, ReplicaTurn& turn) = 0;
  virtual void hear(const MissingParts& question, ReplicaTurn& turn) = 0;
  virtual void hear(const Progress& arriving, ReplicaTurn& turn) = 0;
};

// How both send what a sum of all members asks for.
inline void send_parts(std::vector<AddressedPart> parts, ReplicaTurn& turn) {
  for (AddressedPart& addressed : parts) turn.send_to_peer(addressed.receiver, std::move(addressed.part));
}
inline void send_marks(std::vector<AddressedMark> marks, ReplicaTurn& turn) {
  for (AddressedMark& addressed : marks) turn.send_to_peer(addressed.receiver, std::move(addressed.mark));
}
inline void send_questions(std::vector<MissingParts> questions, ReplicaTurn& turn) {
  for (MissingParts& question : questions) turn.send_to_peer(question.holder, question);
}

}  // namespace shoal
