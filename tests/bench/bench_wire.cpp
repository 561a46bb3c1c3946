// bench_wire [REPEATS]: what the wire formats and the backends of a reduction cost, on one core.
//
// First table: values per second through the encoder and through the checked decoder, for one bucket (it stays in the
// cache) and for a whole fragment (it does not). Second table: one sum of 4 members, all computed in this thread:
// its relative L2, bytes and computing time per member, and the time its bytes take on two links. The fastest
// repetition counts: what disturbs only ever makes it slower.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "runtime/sync/reduction.h"
#include "runtime/sync/wire/wire_codec.h"
#include "tests/runtime/sync/random_floats.h"
#include "tests/runtime/sync/reduction_swarm.h"

namespace shoal {
namespace {

constexpr std::pair<WireFormat, const char*> kFormats[] = {
    {WireFormat::kFp32, "fp32"}, {WireFormat::kBf16, "bf16"}, {WireFormat::kInt8, "int8"}, {WireFormat::kE3m0, "e3m0"}};
const std::size_t kBucketValues = kBucketBytes / sizeof(float);
constexpr std::size_t kFragmentValues = std::size_t{1} << 24U;
constexpr std::size_t kSumValues = std::size_t{1} << 22U;
constexpr std::uint32_t kMembers = 4;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double fastest_seconds(int repeats, const std::function<void()>& work) {
  double fastest = std::numeric_limits<double>::max();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double start = thread_seconds();
    work();
    fastest = std::min(fastest, thread_seconds() - start);
  }
  return fastest;
}

struct Rates {
  double encode = 0;  // 1e9 values per second
  double decode = 0;
};

Rates rates_of(WireFormat format, const std::vector<float>& values, int repeats) {
  const double giga = 1e-9 * static_cast<double>(values.size());
  TensorBlob blob;
  std::vector<float> out(values.size());
  Rates rates;
  rates.encode = giga / fastest_seconds(repeats, [&] { blob = std::move(*encode_values(format, values)); });
  rates.decode = giga / fastest_seconds(repeats, [&] {
                   ENSURE(decode_values(blob, format, out).ok(), "what was encoded is decoded");
                 });
  return rates;
}

void print_formats(int repeats) {
  std::printf("format  bits/value   one bucket: encode  decode   %zu Mi values: encode  decode   (1e9 values/s)\n",
              kFragmentValues >> 20U);
  const auto bucket = gaussian_values(1, kBucketValues);
  const auto fragment = gaussian_values(2, kFragmentValues);
  for (const auto& [format, name] : kFormats) {
    const Rates small = rates_of(format, bucket, 50 * repeats);
    const Rates large = rates_of(format, fragment, repeats);
    std::printf("%-6s  %10.4f %20.2f %7.2f %24.2f %7.2f\n", name, bits_per_value(format), small.encode, small.decode,
                large.encode, large.decode);
  }
}

void print_backend(SyncBackend backend, const std::vector<TensorBlob>& contributions, const std::vector<float>& wanted,
                   int repeats) {
  for (const auto& [format, name] : kFormats) {
    std::uint64_t bytes = 0;
    TensorBlob sum;
    const ReductionPlan plan{backend, format, kMembers, kBucketBytes};
    const double seconds = fastest_seconds(repeats, [&] {
      ReductionSwarm swarm(plan, contributions);
      swarm.settle();
      bytes = swarm.bytes();
      sum = swarm.at(0).sum();
    });
    const double error = relative_l2(floats_of(sum), wanted);
    const double stated = analytic_bytes(format, kSumValues, kMembers);
    const double each = static_cast<double>(bytes) / kMembers;
    std::printf("%-6s  %-6s  %9.4f  %9.2f  %+9.3f %%  %8.1f  %12.2f  %11.3f\n",
                backend == SyncBackend::kRing ? "ring" : "owner", name, error, each / 1e6,
                100 * (static_cast<double>(bytes) / stated - 1), 1e3 * seconds / kMembers, each * 8 / 1e8,
                each * 8 / 1e9);
  }
}

void print_backends(int repeats) {
  std::vector<TensorBlob> contributions;
  std::vector<float> wanted(kSumValues, 0);
  for (std::uint32_t member = 0; member < kMembers; ++member) {
    const auto values = gaussian_values(10 + member, kSumValues);
    for (std::size_t at = 0; at < wanted.size(); ++at) wanted[at] += values[at];
    contributions.push_back(blob_of(values));
  }
  std::printf("\none sum of %zu Mi values over %u members; per member:\n", kSumValues >> 20U, kMembers);
  std::printf("backend format  rel. L2   megabytes  to analytic  CPU ms    s, 100 Mbit/s  s, 1 Gbit/s\n");
  for (const SyncBackend backend : {SyncBackend::kRing, SyncBackend::kOwner}) {
    print_backend(backend, contributions, wanted, repeats);
  }
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const int repeats = std::max(1, argc > 1 ? std::atoi(argv[1]) : 10);
  shoal::print_formats(repeats);
  shoal::print_backends(std::max(1, repeats / 3));
  return 0;
}
