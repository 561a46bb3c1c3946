// A microbatch that a faulty router doubles or drops is caught at prepare, named, and repaired: same weights. The
// negative control doctors the manifests too, and then the weights do differ: it is the manifests that catch it.
#include <gmock/gmock.h>

#include "runtime/journal/view.h"
#include "tests/simulation/seeds.h"
#include "tests/support/fake_executor.h"

namespace shoal::microbatch_test {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kSeeds = 20;
constexpr StepId kStep{4};
constexpr MicrobatchId kVictim{3};

using Letters = std::vector<Letter>;

[[nodiscard]] bool is_of_victim(const Cause& cause) { return cause.step == kStep && cause.microbatch == kVictim; }

// The training Forward of the victim to this stage, if the letter is it.
[[nodiscard]] const Forward* victim_to(const Letter& letter, std::uint32_t stage) {
  const auto* forward = std::get_if<Forward>(&letter.body);
  const bool is_it = forward != nullptr && forward->purpose == Purpose::kTrain && is_of_victim(forward->cause) &&
                     forward->cause.hop == stage;
  return is_it ? forward : nullptr;
}

// Sends the victim's Forward to both replicas of the stage, once.
class Doubler {
 public:
  Doubler(SimulatedSwarm& swarm, std::uint32_t stage) : swarm_(&swarm), stage_(stage) {}

  Letters operator()(const SimulatedHop& hop, const Letter& letter) {
    const Forward* forward = victim_to(letter, stage_);
    if (forward == nullptr || is_done_) return {letter};
    const View view = view_of(*swarm_);
    for (const ReplicaMember& other : view.replicas_of(StageId{stage_})) {
      if (other.incarnation == forward->path[stage_]) continue;
      Letter copy = letter;
      std::get<Forward>(copy.body).path[stage_] = other.incarnation;
      copy.to = to_stage(other.process, other.incarnation);
      is_done_ = swarm_->network().inject({hop.from, swarm_->port_of(other.process).value()}, copy);
    }
    return {letter};
  }

 private:
  SimulatedSwarm* swarm_;
  std::uint32_t stage_;
  bool is_done_ = false;
};

// Swallows the victim's Forward to the last stage, once, and answers it in the replica's name.
class Swallower {
 public:
  explicit Swallower(SimulatedSwarm& swarm) : swarm_(&swarm) {}

  Letters operator()(const SimulatedHop& hop, const Letter& letter) {
    const Forward* forward = victim_to(letter, 1);
    if (forward == nullptr || is_done_) return {letter};
    is_done_ = true;
    Backward forged;
    forged.cause = forward->cause;
    forged.sender = forward->path[1];
    forged.weights_version = forward->weights_version;
    forged.trail = {Hop{forged.sender, 0, 1, 0}};
    forged.input_gradient = FakeExecutor::input_of(1, kStep, kVictim);
    forged.loss_sum = 1;
    forged.token_count = FakeExecutor::kTokens;
    const View view = view_of(*swarm_);
    const ProcessIncarnation asker = view.members().process_of(forward->sender);
    EXPECT_TRUE(
        swarm_->network().inject({hop.to, hop.from}, {letter.to.process, to_stage(asker, forward->sender), forged}));
    return {};
  }

 private:
  SimulatedSwarm* swarm_;
  bool is_done_ = false;
};

// One replica alone says that it holds the victim.
class ManifestDoctor {
 public:
  Letter operator()(Letter letter, std::uint32_t stage) {
    auto* manifest = std::get_if<Manifest>(&letter.body);
    if (manifest == nullptr || manifest->order.stage != StageId{stage} || manifest->order.step != kStep) return letter;
    const auto is_victim = [](const ManifestEntry& entry) { return entry.microbatch == kVictim; };
    const bool holds = std::any_of(manifest->entries.begin(), manifest->entries.end(), is_victim);
    if (holds && !owner_) owner_ = manifest->member;
    if (holds && owner_ != manifest->member) std::erase_if(manifest->entries, is_victim);
    return letter;
  }

 private:
  std::optional<Incarnation> owner_;
};

void expect_caught(const SimulatedSwarm& swarm, RunEventKind kind) {
  EXPECT_EQ(violations(swarm), "");
  const auto reasons = swarm.record().reasons_of(kind);
  EXPECT_THAT(reasons, Contains(HasSubstr("step 4: microbatch 3 "))) << "seed " << swarm.seed();
}

// Now and then the copy takes so long that its replica is frozen when it comes: it is refused (P-6), and nothing is
// twice.
TEST(DoubledMicrobatch, IsCaughtNamedAndRepairedInTheLastStage) {
  std::uint64_t caught = 0;
  const std::uint64_t runs = for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SwarmShape shape;
    shape.draws_bounds = false;  // small ones refuse more of the copies
    SimulatedSwarm swarm(shape, seed);
    swarm.network().set_fault(Doubler(swarm, 1));
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    if (swarm.record().reasons_of(RunEventKind::kMicrobatchTwice).empty()) return;
    ++caught;
    expect_caught(swarm, RunEventKind::kMicrobatchTwice);
  });
  EXPECT_GE(caught, runs - runs / 20);
}

// Both copies in the first stage wait for an answer: one that comes after the freeze is in no manifest, and harms
// nobody.
TEST(DoubledMicrobatch, IsRepairedInTheFirstStageAndNamedWhereItWasCounted) {
  std::uint64_t named = 0;
  std::uint64_t runs = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimulatedSwarm swarm(SwarmShape{}, seed);
    swarm.network().set_fault(Doubler(swarm, 0));
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    named += swarm.record().reasons_of(RunEventKind::kMicrobatchTwice).size();
    ++runs;
  });
  EXPECT_GT(2 * named + 5, runs);
}

TEST(DroppedMicrobatch, ThatCountsAsAnsweredIsCaughtNamedAndRepaired) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    SimulatedSwarm swarm(SwarmShape{}, seed);
    swarm.network().set_fault(Swallower(swarm));
    swarm.run();
    expect_caught(swarm, RunEventKind::kMicrobatchMissing);
  });
}

TEST(DroppedMicrobatch, ThatIsUnansweredIsSentAgain) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    SimulatedSwarm swarm(SwarmShape{}, seed);
    bool is_done = false;
    swarm.network().set_fault([&is_done](const SimulatedHop&, const Letter& letter) {
      if (victim_to(letter, 1) == nullptr || is_done) return Letters{letter};
      is_done = true;
      return Letters{};
    });
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    EXPECT_TRUE(is_done);
    EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kMicrobatchMissing), IsEmpty())
        << "asked for again before any prepare";
  });
}

// S-1 must rest on the manifests: with them doctored, a doubled microbatch is committed and changes the weights.
TEST(DoubledMicrobatch, ChangesTheWeightsWhenTheManifestsHideIt) {
  SimulatedSwarm swarm(SwarmShape{}, 1);
  Doubler doubler(swarm, 1);
  ManifestDoctor doctor;
  swarm.network().set_fault([&](const SimulatedHop& hop, const Letter& letter) {
    Letters letters = doubler(hop, letter);
    for (Letter& one : letters) one = doctor(std::move(one), 1);
    return letters;
  });
  swarm.run();
  EXPECT_THAT(journal_violations(swarm), IsEmpty()) << "the journal believes the manifests";
  EXPECT_THAT(weight_violations(swarm), Contains(HasSubstr("S-5: saved weights of stage 1")));
}

// True for what the step protocol repeats by itself. Joins, checkpoints and orders to processes rest on the link.
[[nodiscard]] bool may_be_lost(const Letter& letter) {
  return std::visit(
      [](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        return requires { body.cause; }
        || requires { body.order; }
        || std::is_same_v<Body, JournalEntries> || std::is_same_v<Body, FetchJournal>;
      },
      letter.body);
}

TEST(LettersOfTheStep, MayBeLostAndDoubledAllTheTime) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    SwarmShape shape;
    auto random = std::make_shared<std::mt19937_64>(seed);
    shape.filter = [random](const Letter& letter) {
      const std::uint64_t percent = (*random)() % 100;
      if (!may_be_lost(letter) || percent >= 4) return 1;
      return percent < 2 ? 0 : 2;
    };
    SimulatedSwarm swarm(shape, seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
  });
}

}  // namespace
}  // namespace shoal::microbatch_test
