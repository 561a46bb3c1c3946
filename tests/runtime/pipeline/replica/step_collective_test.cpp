// The agreement on a step's sum where a library makes it (P-18b): what goes to its thread, and what news of it change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/pipeline/replica/step_agreement.h"
#include "tests/runtime/pipeline/replica/part_bench.h"
#include "tests/runtime/sync/diloco_config.h"

namespace shoal::step_collective_test {
namespace {

using ::testing::HasSubstr;

const CollectiveOffer kOffer{"nccl 2.28.9", "GPU-1", {}, 0};
const std::string kId(kCollectiveIdBytes, 'i');

ReplicaSetup setup_with(std::optional<CollectiveOffer> offer) {
  ReplicaSetup setup = setup_of(kB0);
  setup.collective = std::move(offer);
  return setup;
}

// b0 is the first of two members.
struct Bed {
  explicit Bed(std::optional<CollectiveOffer> offer = kOffer) : Bed(setup_with(std::move(offer))) {}
  explicit Bed(ReplicaSetup setup) : bench(std::move(setup)) {}

  template <class Heard>
  void tell(const Heard& heard) {
    step.hear(heard, bench.turn);
    for (Effect& effect : bench.turn.finish()) {
      if (auto* collect = std::get_if<Collect>(&effect)) handed_in.push_back(std::move(collect->order));
      if (auto* send = std::get_if<SendLetter>(&effect)) bench.letters.push_back(std::move(send->letter));
      if (auto* run = std::get_if<RunJob>(&effect)) bench.job = std::move(run->job);
    }
    for (Fact& fact : bench.turn.take_facts()) bench.facts.push_back(std::move(fact));
    for (const EpochEntered& entered : bench.take_facts<EpochEntered>()) bench.standing.hear(entered);
    for (const SumAdopted& adopted : bench.take_facts<SumAdopted>()) bench.standing.hear(adopted);
  }
  template <class Result>
  void complete(const Result& result) {
    bench.turn.complete(bench.turn.now());
    bench.job.reset();
    tell(result);
  }
  Manifest freeze(std::uint32_t counter) {
    tell(Prepare{bench.order(counter), {}});
    const auto wanted = bench.take_facts<FreezeWanted>();
    tell(ManifestMade{wanted.at(0), {{MicrobatchId{2}, 10, 1.5, {}}}});
    return bench.take_letters<Manifest>().at(0);
  }
  // Until the contribution is there.
  void reduce(std::uint32_t counter, std::optional<Epoch> communicator) {
    tell(Reduce{bench.order(counter), {kB0, kB1}, 40, communicator});
    const auto* job = bench.job_as<ContributeJob>();
    ASSERT_NE(job, nullptr);
    EXPECT_EQ(job->stays_on_device, communicator.has_value());
    complete(Contributed{values()});
  }
  [[nodiscard]] static TensorBlob values() { return FakeExecutor::input_of(1, StepId{0}, MicrobatchId{0}); }
  template <class News>
  void told(const News& news) {
    tell(CollectiveEvent{news});
  }
  // What was handed in since the last look.
  [[nodiscard]] std::vector<CollectiveOrder> take() { return std::exchange(handed_in, {}); }

  PartBench bench;
  StepAgreement step;
  std::vector<CollectiveOrder> handed_in;
};

Epoch epoch(std::uint32_t counter) { return Epoch{kGroup, counter}; }

TEST(StepCollective, ASumGoesToTheLibraryAndItsEndToTheGroup) {
  Bed bed;
  EXPECT_EQ(bed.freeze(1).collective, kOffer);
  bed.reduce(1, epoch(1));
  const auto orders = bed.take();
  ASSERT_EQ(orders.size(), 1U);
  const auto& sum = std::get<CollectiveSum>(orders[0]);
  EXPECT_EQ(sum.contribution, Bed::values());
  bed.told(CollectiveIdMade{bed.bench.order(1), kId});
  EXPECT_EQ(bed.bench.take_letters<Part>().size(), 1U);
  bed.told(CollectiveSummed{bed.bench.order(1), Bed::values()});
  const auto* adopt = bed.bench.job_as<AdoptJob>();
  ASSERT_NE(adopt, nullptr);
  EXPECT_EQ(adopt->sum, Bed::values());
  bed.complete(Adopted{ReducedSum{77, {}}});
  EXPECT_EQ(bed.bench.take_letters<Reduced>().at(0).digest, 77U);
  EXPECT_TRUE(bed.take().empty());
}

TEST(StepCollective, ItOffersTheCommunicatorThatASumLeft) {
  Bed bed;
  static_cast<void>(bed.freeze(1));
  bed.reduce(1, epoch(1));
  bed.told(CollectiveSummed{bed.bench.order(1), Bed::values()});
  bed.complete(Adopted{ReducedSum{77, {}}});
  bed.tell(Open{bed.bench.order(2)});
  EXPECT_EQ(bed.take().size(), 1U) << "the order; nothing is dropped of a sum that is whole";
  const auto offer = bed.freeze(3).collective;
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->communicator, epoch(1));
  EXPECT_EQ(offer->size, 2U);
  bed.reduce(3, epoch(1));
  const auto orders = bed.take();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_FALSE(std::get<CollectiveSum>(orders[0]).makes_communicator());
}

TEST(StepCollective, AHigherEpochDropsWhatIsUnderWay) {
  Bed bed;
  static_cast<void>(bed.freeze(1));
  bed.reduce(1, epoch(1));
  static_cast<void>(bed.take());
  bed.tell(Open{bed.bench.order(2)});
  const auto orders = bed.take();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<CollectiveDrop>(orders[0]));
  bed.told(CollectiveSummed{bed.bench.order(1), Bed::values()});  // it was on its way
  EXPECT_EQ(bed.bench.job_as<AdoptJob>(), nullptr);
  EXPECT_EQ(bed.freeze(3).collective->communicator, Epoch{});
}

TEST(StepCollective, AFailureIsSaidAndTheCommunicatorForgotten) {
  Bed bed;
  static_cast<void>(bed.freeze(1));
  bed.reduce(1, epoch(1));
  bed.told(CollectiveFailed{bed.bench.order(1), "remote process exited"});
  const auto news = bed.bench.take_letters<Progress>();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].failure, "remote process exited");
  EXPECT_EQ(news[0].order, bed.bench.order(1));
  bed.tell(Open{bed.bench.order(2)});
  EXPECT_EQ(bed.freeze(3).collective, kOffer);
  bed.reduce(3, std::nullopt);
  EXPECT_FALSE(bed.bench.take_letters<Part>().empty()) << "the ring's first";
}

TEST(StepCollective, WhoseProcessMakesNoneAnyMoreOffersNothing) {
  Bed bed;
  static_cast<void>(bed.freeze(1));
  bed.reduce(1, epoch(1));
  bed.told(CollectiveFailed{bed.bench.order(1), "64 communicators never came together", true});
  EXPECT_EQ(bed.bench.take_letters<Progress>().size(), 1U) << "the group opens again at once";
  bed.tell(Open{bed.bench.order(2)});
  EXPECT_EQ(bed.freeze(3).collective, std::nullopt);
  const auto why = bed.bench.take_letters<Progress>();
  ASSERT_EQ(why.size(), 1U) << "before each manifest that offers nothing";
  EXPECT_EQ(why[0].failure, "64 communicators never came together");
  EXPECT_EQ(why[0].order, bed.bench.order(3));
}

TEST(StepCollective, WhoOffersNothingSaysWhyBeforeItsManifest) {
  ReplicaSetup setup = setup_with(std::nullopt);
  setup.collective_lack = "no GPU";
  Bed bed(setup);
  bed.tell(Prepare{bed.bench.order(1), {}});
  const auto wanted = bed.bench.take_facts<FreezeWanted>();
  bed.tell(ManifestMade{wanted.at(0), {{MicrobatchId{2}, 10, 1.5, {}}}});
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(bed.bench.letters.size(), 2U) << time;
    const auto* why = std::get_if<Progress>(&bed.bench.letters[0].body);
    const auto* manifest = std::get_if<Manifest>(&bed.bench.letters[1].body);
    ASSERT_TRUE(why != nullptr && manifest != nullptr) << "one behind the other, on one way";
    EXPECT_EQ(why->failure, "no GPU");
    EXPECT_EQ(why->order, manifest->order);
    EXPECT_EQ(why->count, 1U);
    EXPECT_EQ(why->parts, 0U);
    EXPECT_EQ(manifest->collective, std::nullopt);
    bed.bench.letters.clear();
    bed.tell(Prepare{bed.bench.order(1), {}});  // a repeat is answered likewise
  }
}

TEST(StepCollective, WhoOffersSomethingOrWantsTheRingSaysNothingOfIt) {
  for (const auto& offer : {std::optional(kOffer), std::optional<CollectiveOffer>()}) {
    Bed bed(offer);
    EXPECT_EQ(bed.freeze(1).collective, offer);
    EXPECT_TRUE(bed.bench.take_letters<Progress>().empty());
  }
}

// P-31: nobody but the member itself reads it.
TEST(StepCollective, AContributionOfRoundsStaysOnItsDevice) {
  ReplicaSetup setup = setup_of(kB0);
  setup.rounds = diloco(4);
  Bed bed(std::move(setup));
  static_cast<void>(bed.freeze(1));
  bed.tell(Reduce{bed.bench.order(1), {kB0}, 10, std::nullopt});
  const auto* job = bed.bench.job_as<ContributeJob>();
  ASSERT_NE(job, nullptr);
  EXPECT_TRUE(job->stays_on_device);
}

TEST(StepCollective, WhoHasNoLibraryIgnoresAnOrderForOne) {
  Bed bed(std::nullopt);
  EXPECT_EQ(bed.freeze(1).collective, std::nullopt);
  bed.tell(Reduce{bed.bench.order(1), {kB0, kB1}, 40, epoch(1)});
  EXPECT_EQ(bed.bench.job_as<ContributeJob>(), nullptr);
  EXPECT_EQ(bed.step.stale_orders(), 1U);
}

}  // namespace
}  // namespace shoal::step_collective_test
