// Measures what the backends cost in bytes and in precision, against what is stated, and where lost precision stays.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "runtime/sync/reduction.h"
#include "runtime/sync/wire/error_feedback.h"
#include "tests/runtime/sync/random_floats.h"
#include "tests/runtime/sync/reduction_swarm.h"

namespace shoal::reduction_figures_test {
namespace {

constexpr SyncBackend kBackends[] = {SyncBackend::kRing, SyncBackend::kOwner};
constexpr WireFormat kFormats[] = {WireFormat::kFp32, WireFormat::kBf16, WireFormat::kInt8, WireFormat::kE3m0};
constexpr std::size_t kBigBucket = std::size_t{1} << 16U;

using Vectors = std::vector<std::vector<float>>;

Vectors gaussian_vectors(std::uint64_t seed, std::size_t members, std::size_t count) {
  Vectors vectors;
  for (std::size_t at = 0; at < members; ++at) vectors.push_back(gaussian_values(seed + at, count));
  return vectors;
}

std::vector<TensorBlob> blobs_of(const Vectors& vectors) {
  std::vector<TensorBlob> blobs;
  for (const auto& vector : vectors) blobs.push_back(blob_of(vector));
  return blobs;
}

std::vector<float> plain_sum(const Vectors& vectors) {
  std::vector<float> sum(vectors[0].size(), 0);
  for (std::size_t at = 0; at < sum.size(); ++at) {
    double total = 0;
    for (const auto& vector : vectors) total += vector[at];
    sum[at] = static_cast<float>(total);
  }
  return sum;
}

std::string name_of(const ReductionPlan& plan) {
  return std::string(plan.backend == SyncBackend::kRing ? "ring" : "owner") + ", format " +
         std::to_string(static_cast<int>(plan.wire)) + ", " + std::to_string(plan.members) + " members";
}

// The relative L2 of the sum; all members have been compared bit for bit.
double error_of(const ReductionPlan& plan, const Vectors& vectors) {
  ReductionSwarm swarm(plan, blobs_of(vectors));
  swarm.settle();
  ENSURE(swarm.is_complete(), "without loss it completes");
  for (std::size_t at = 1; at < swarm.size(); ++at) EXPECT_EQ(swarm.at(at).sum(), swarm.at(0).sum());
  return relative_l2(floats_of(swarm.at(0).sum()), plain_sum(vectors));
}

TEST(ReductionFigures, AnInt8RingLosesNoMoreThanStatedAndAllMembersAgreeToTheBit) {
  constexpr std::pair<std::uint32_t, double> kBounds[] = {{2, 0.02}, {4, 0.025}, {8, 0.035}};
  for (const auto& [members, bound] : kBounds) {
    const Vectors vectors = gaussian_vectors(members, members, 100'000);
    for (const SyncBackend backend : kBackends) {
      const ReductionPlan plan{backend, WireFormat::kInt8, members, kBigBucket};
      const double error = error_of(plan, vectors);
      std::printf("%s: relative L2 %.5f\n", name_of(plan).c_str(), error);
      EXPECT_LE(error, bound);
      EXPECT_GT(error, 0.004) << "an error this small would mean that nothing is encoded";
    }
    const double coarse = error_of({SyncBackend::kRing, WireFormat::kE3m0, members, kBigBucket}, vectors);
    EXPECT_GT(coarse, bound) << "control: four bits do not keep the bound of eight";
  }
}

TEST(ReductionFigures, OwnersLoseLessThanARingOfManyMembersInFourBits) {
  const Vectors vectors = gaussian_vectors(30, 8, 100'000);
  const double ring = error_of({SyncBackend::kRing, WireFormat::kE3m0, 8, kBigBucket}, vectors);
  const double owner = error_of({SyncBackend::kOwner, WireFormat::kE3m0, 8, kBigBucket}, vectors);
  std::printf("E3M0, 8 members: relative L2 %.3f by ring, %.3f by owner\n", ring, owner);
  EXPECT_LT(owner, 0.28);
  EXPECT_GT(ring, 1.2 * owner);
}

TEST(ReductionFigures, BytesOfARoundAreWithinTwoPercentOfTheAnalyticValue) {
  constexpr std::size_t kCount = 300'001;
  for (const std::uint32_t members : {1U, 2U, 3U, 5U, 8U}) {
    const Vectors vectors = gaussian_vectors(90, members, kCount);
    for (const SyncBackend backend : kBackends) {
      for (const WireFormat wire : kFormats) {
        const ReductionPlan plan{backend, wire, members, kBigBucket};
        SCOPED_TRACE(name_of(plan));
        ReductionSwarm swarm(plan, blobs_of(vectors));
        swarm.settle();
        ASSERT_TRUE(swarm.is_complete());
        const double stated = analytic_bytes(wire, kCount, members);
        const auto carried = static_cast<double>(swarm.bytes());
        EXPECT_NEAR(carried, stated, 0.02 * stated);
        if (members == 1) continue;
        // Negative controls: a ring that sent one whole vector per member and lap, and the scales left out.
        EXPECT_GT(std::fabs(carried - stated * members / (members - 1)), 0.02 * stated);
        const WireFormat other = wire == WireFormat::kE3m0 ? WireFormat::kInt8 : WireFormat::kE3m0;
        EXPECT_GT(std::fabs(carried - analytic_bytes(other, kCount, members)), 0.02 * stated);
      }
    }
  }
  EXPECT_EQ(analytic_bytes(WireFormat::kFp32, 1000, 4), 24'000);
  EXPECT_EQ(analytic_bytes(WireFormat::kE3m0, 256, 2), 2 * 130);
}

// Nothing vanishes: what the sum lacks is what the members say they left out.
TEST(ReductionFigures, TheSumAndAllResidualsAreTheContributions) {
  for (const SyncBackend backend : kBackends) {
    for (const WireFormat wire : {WireFormat::kBf16, WireFormat::kInt8, WireFormat::kE3m0}) {
      for (const std::uint32_t members : {2U, 3U, 7U}) {
        ReductionPlan plan{backend, wire, members};
        SCOPED_TRACE(name_of(plan));
        plan.error_feedback = true;
        const std::uint64_t seed = 7 * members;
        std::mt19937_64 random(seed);
        const Vectors vectors = gaussian_vectors(seed, members, 3001);
        ReductionSwarm swarm(plan, blobs_of(vectors));
        ASSERT_TRUE(swarm.settle(random)) << "seed " << seed;
        Vectors parts = {floats_of(swarm.at(0).sum())};
        const auto wanted = plain_sum(vectors);
        EXPECT_GT(relative_l2(parts[0], wanted), 1e-3) << "control: the sum alone is not";
        for (std::size_t at = 0; at < members; ++at) parts.push_back(floats_of(swarm.at(at).residual()));
        EXPECT_LT(relative_l2(plain_sum(parts), wanted), 1e-6);
        parts.pop_back();
        EXPECT_GT(relative_l2(plain_sum(parts), wanted), 1e-4) << "control: one member's residual is missing";
      }
    }
  }
}

// The mean of many rounds of the same contributions, as a member sees it.
double error_of_rounds(ReductionPlan plan, int rounds, const Vectors& vectors) {
  std::vector<ErrorFeedback> feedback(plan.members);
  Vectors sums;
  for (int round = 0; round < rounds; ++round) {
    std::vector<TensorBlob> contributions;
    for (std::size_t at = 0; at < vectors.size(); ++at) {
      contributions.push_back(feedback[at].corrected(0, blob_of(vectors[at])));
    }
    plan.epoch = static_cast<std::uint32_t>(round + 1);
    ReductionSwarm swarm(plan, std::move(contributions));
    swarm.settle();
    for (std::size_t at = 0; at < vectors.size(); ++at) feedback[at].keep(0, swarm.at(at).residual());
    sums.push_back(floats_of(swarm.at(0).sum()));
  }
  std::vector<float> wanted = plain_sum(vectors);
  for (float& value : wanted) value *= static_cast<float>(rounds);
  return relative_l2(plain_sum(sums), wanted);
}

TEST(ReductionFigures, ErrorFeedbackLeavesOneRoundsErrorOfMany) {
  const Vectors vectors = gaussian_vectors(70, 4, 2000);
  for (const SyncBackend backend : kBackends) {
    ReductionPlan plan{backend, WireFormat::kE3m0, 4};
    const double once = error_of_rounds(plan, 1, vectors);
    const double without = error_of_rounds(plan, 30, vectors);
    plan.error_feedback = true;
    const double fed_back = error_of_rounds(plan, 30, vectors);
    std::printf("%s: relative L2 %.3f after 1 round; after 30: %.3f, with error feedback %.4f\n", name_of(plan).c_str(),
                once, without, fed_back);
    EXPECT_LT(fed_back, once / 6);
    EXPECT_NEAR(without, once, 1e-3) << "control";
  }
}

}  // namespace
}  // namespace shoal::reduction_figures_test
