// The machines that a run would rent: kinds with a speed, a number, a price and a memory.
//
// Pure. A speed is multiply-adds per second, or, as of a paced device, the time of one microbatch's forward whatever
// the stage. What nobody said is absent, and stays so in every figure that needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

struct MachineKind {
  std::string name = "machine";
  std::optional<double> multiply_adds_s;
  std::optional<double> forward_s;       // of one microbatch, in place of multiply_adds_s
  std::optional<std::uint64_t> count;    // none: as many as the others leave open
  std::optional<double> price_per_hour;  // in any currency
  std::optional<std::uint64_t> memory_bytes;
};

// Reads NAME=SPEED or NAME=SPEEDxCOUNT; SPEED: GFLOP/s, of which a multiply-add is two, as in a100=40000, or the time
// of a forward of one microbatch, as in slow=60ms. Errors: kUsage.
[[nodiscard]] Result<MachineKind> machine_kind_of(std::string_view text);

// Reads "24G", "512M", "1.5T" or plain bytes, at least kLeastMemory; units are powers of 1000, with an i ("24Gi") of
// 1024, in capitals or small letters. Errors: kUsage.
inline constexpr std::uint64_t kLeastMemory = 1'000'000;
[[nodiscard]] Result<std::uint64_t> bytes_of_text(std::string_view text);

// Reads a rate of a link in bit/s, "50M", "1G" or plain bits, at least kLeastRate; units are powers of 1000. Of "0" it
// gives nothing: no limit. option: what an error names. Errors: kUsage.
inline constexpr std::uint64_t kLeastRate = 1'000'000;
[[nodiscard]] Result<std::optional<std::uint64_t>> rate_of_text(std::string_view option, std::string_view text);

// A machine of a kind, for each that is counted; a kind without a count fills up to `needed` (the last such kind).
[[nodiscard]] std::vector<MachineKind> machines_of(const std::vector<MachineKind>& kinds, std::size_t needed);

}  // namespace shoal
