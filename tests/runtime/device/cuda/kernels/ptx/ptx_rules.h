// Lists what a kernel's PTX must not hold where its results have to repeat, and be the CPU's: text in, findings out.
//
//   * atomics on floats: their order is chance
//   * .approx, .ftz, div.full: another result than IEEE's
//   * products and sums without a rounding mode: the assembler may fuse them
//   * fma in a kernel whose source has none
// And from the assembler's log: spilled registers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::gpu {

struct PtxKernel {
  std::string name;  // mangled
  std::string body;
};
[[nodiscard]] std::vector<PtxKernel> kernels_in(std::string_view ptx);

[[nodiscard]] std::vector<std::string> check_instructions(const PtxKernel& kernel);
[[nodiscard]] unsigned fma_count(const PtxKernel& kernel);

// Kernels of an assembler's log (-Xptxas -v) that spill or are not in it.
[[nodiscard]] std::vector<std::string> check_spills(std::string_view log);
[[nodiscard]] unsigned assembled_count(std::string_view log);
// Counts the log's kernels by what they are assembled for, as in 80 for sm_80.
[[nodiscard]] std::map<int, unsigned> assembled_for(std::string_view log);

}  // namespace shoal::gpu
