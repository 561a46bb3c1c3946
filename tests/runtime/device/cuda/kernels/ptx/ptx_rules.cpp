// Instructions of PTX are words with dots, one to a line.
#include "tests/runtime/device/cuda/kernels/ptx/ptx_rules.h"

#include <regex>

namespace shoal::gpu {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool matches(std::string_view line, const std::regex& pattern) {
  return std::regex_search(line.begin(), line.end(), pattern);
}

}  // namespace

std::vector<PtxKernel> kernels_in(std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry ";
  std::vector<PtxKernel> kernels;
  for (std::size_t at = ptx.find(kEntry); at != std::string_view::npos;) {
    const std::size_t next = ptx.find(kEntry, at + 1);
    const std::string_view text = ptx.substr(at + kEntry.size(), next == std::string_view::npos ? next : next - at);
    kernels.push_back({std::string(text.substr(0, text.find('('))), std::string(text)});
    at = next;
  }
  return kernels;
}

std::vector<std::string> check_instructions(const PtxKernel& kernel) {
  static const std::regex kAtomic(R"(\b(atom|red)\.[\w.:]*\.(f16|f32|f64|f16x2|bf16|bf16x2)\b)");
  static const std::regex kInexact(R"(\.(approx|ftz|full)\b)");
  static const std::regex kUnrounded(R"(\b(add|sub|mul|mad)\.(f32|f64|f16|bf16)\b)");
  std::vector<std::string> findings;
  for (const std::string_view line : lines_of(kernel.body)) {
    const char* what = matches(line, kAtomic)      ? "an atomic on floats: "
                       : matches(line, kInexact)   ? "not as IEEE rounds: "
                       : matches(line, kUnrounded) ? "may be fused: "
                                                   : nullptr;
    if (what != nullptr) findings.push_back(kernel.name + ": " + what + std::string(line));
  }
  return findings;
}

unsigned fma_count(const PtxKernel& kernel) {
  static const std::regex kFused(R"(\bfma\.\w+\.(f32|f64)\b)");
  unsigned count = 0;
  for (const std::string_view line : lines_of(kernel.body)) count += matches(line, kFused) ? 1U : 0U;
  return count;
}

std::vector<std::string> check_spills(std::string_view log) {
  static const std::regex kSpill(R"([1-9]\d* bytes spill (stores|loads))");
  std::vector<std::string> findings;
  std::string kernel;
  for (const std::string_view line : lines_of(log)) {
    if (line.find("Compiling entry function") != std::string_view::npos) kernel = line;
    if (matches(line, kSpill)) findings.push_back(kernel + ":" + std::string(line));
  }
  return findings;
}

unsigned assembled_count(std::string_view log) {
  unsigned count = 0;
  for (const std::string_view line : lines_of(log)) {
    count += line.find("Compiling entry function") != std::string_view::npos ? 1U : 0U;
  }
  return count;
}

std::map<int, unsigned> assembled_for(std::string_view log) {
  static const std::regex kFor(R"(Compiling entry function '.*' for 'sm_(\d+)')");
  std::map<int, unsigned> counts;
  for (const std::string_view line : lines_of(log)) {
    std::cmatch found;
    if (std::regex_search(line.begin(), line.end(), found, kFor)) ++counts[std::stoi(found[1].str())];
  }
  return counts;
}

}  // namespace shoal::gpu
