// A sync group of the second of two stages, fed by hand: a test says what it reads and hears, and sees what it sends.
// Time passes in leaps, when the test says so.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "runtime/sync/sync_group.h"
#include "tests/support/sent_letters.h"

namespace shoal::test_support {

inline constexpr StageId kUpstream{0};
inline constexpr StageId kStage{1};
inline constexpr Incarnation kGroup{50};

// A group with members 11 and 12, upstream replicas 1 and 2, four microbatches, appointed and opened.
class SyncGroupBench {
 public:
  explicit SyncGroupBench(StageId stage = kStage) : core(config_of(stage)), stage_(stage) {
    for (const std::uint64_t replica : {1, 2}) add(kUpstream, replica);
    for (const std::uint64_t replica : {11, 12}) add(kStage, replica);
    read(AppointGroup{stage, kGroup});
  }

  void add(StageId stage, std::uint64_t replica) {
    read(AddReplica{stage, ReplicaId{0}, Incarnation{replica}, ProcessIncarnation{replica},
                    core.view().committed_steps()});
  }
  void read(JournalBody body) {
    take(core.follow({JournalPosition{core.view().position().value + 1}, {}, Term{1}, std::move(body)}, now));
  }
  void take(SyncGroupEffects effects) {
    sent.clear();
    for (Letter& letter : effects.letters) sent.push_back(std::move(letter));
  }
  template <class Message>
  void hear(const Message& message) {
    take(core.hear(message, now));
  }
  void tick(std::chrono::seconds later) {
    now += later;
    take(core.tick(now));
  }
  OrderId order() const { return {RunId{9}, {}, Term{1}, stage_, core.step(), core.epoch()}; }
  void answered() { hear(AllAnswered{{}, core.step()}); }
  void manifest(std::uint64_t member, const std::vector<std::uint32_t>& microbatches) {
    Manifest manifest{order(), Incarnation{member}, {}};
    for (const std::uint32_t index : microbatches) manifest.entries.push_back({MicrobatchId{index}, 100, 1.5, {}});
    hear(manifest);
  }
  void reduced(std::uint64_t member, std::uint64_t digest) {
    hear(Reduced{order(), Incarnation{member}, digest, {{"h.0.weight", 2.0}}});
  }
  template <class Message>
  std::vector<Message> all() const {
    return bodies_of<Message>(sent);
  }

  Instant now = Instant{} + std::chrono::hours(1);
  SyncGroupCore core;
  std::vector<Letter> sent;

 private:
  static SyncGroupConfig config_of(StageId stage) {
    SyncGroupConfig config{RunId{9}, Term{1}, stage, kGroup, 4};
    config.look_max = std::chrono::hours(9);  // time goes in leaps here
    return config;
  }

  StageId stage_;
};

}  // namespace shoal::test_support
