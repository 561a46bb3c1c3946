// Lanes for tests of what a router offers them: nothing arrives by them.
// They take letters or not, as the test says, and keep what they took.
#pragma once

#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include "messages/codec.h"
#include "messages/letter.h"
#include "runtime/transport/lanes/lanes.h"

namespace shoal::test_support {

struct HeldLanes final : Lanes {
  std::deque<LaneOutcome> outcomes;  // those of the next offers; after them all is taken
  std::vector<MessageBody> taken;
  LinkId offered;   // link of the last letter
  LinkId expected;  // link of the last lane that was expected

  void tell(const caf::actor&) override {}
  std::uint64_t expect(LinkId link) override {
    expected = link;
    return 1;
  }
  void open(LinkId, const Endpoint&, std::uint64_t) override {}
  LaneOutcome send(LinkId link, EncodedLetter letter) override {
    offered = link;
    LaneOutcome outcome = LaneOutcome::kTaken;
    if (!outcomes.empty()) {
      outcome = outcomes.front();
      outcomes.pop_front();
    }
    if (outcome == LaneOutcome::kTaken) taken.push_back(decode(letter.bytes, letter.buffers).value->body);
    return outcome;
  }
  void close(LinkId) override {}

  [[nodiscard]] std::vector<std::uint32_t> microbatches() const {
    std::vector<std::uint32_t> all;
    for (const MessageBody& body : taken) all.push_back(std::get<Forward>(body).cause.microbatch.value);
    return all;
  }
};

}  // namespace shoal::test_support
