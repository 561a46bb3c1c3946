// Reads the catalogue's column.
#include "runtime/transport/lanes/letter_way.h"

#include "messages/catalogue/facts.h"

namespace shoal {

LetterWay way_of(const MessageBody& body) {
  switch (facts_of(body).way) {
    case MessageWay::kLink: return LetterWay::kLink;
    case MessageWay::kLane: return LetterWay::kLane;
    case MessageWay::kTensors: break;
  }
  return has_tensor(body) ? LetterWay::kLane : LetterWay::kLink;
}

}  // namespace shoal
