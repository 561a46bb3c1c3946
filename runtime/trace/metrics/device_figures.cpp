// A machine's processor is one device for all processes there, and so is a GPU.
#include "runtime/trace/metrics/device_figures.h"

#include <algorithm>
#include <map>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {
namespace {

constexpr double kPercent = 100;

void add(std::string& text, const std::string& words) { text += (text.empty() ? "" : ", ") + words; }

std::optional<std::uint64_t> known(std::uint64_t bytes) { return bytes > 0 ? std::optional(bytes) : std::nullopt; }

}  // namespace

std::optional<double> peak_multiply_adds_s(const std::vector<ComputedOn>& replicas) {
  struct Device {
    std::uint64_t rate = 0;  // of a core, as the process says that measured the most
    std::uint32_t cores = 0;
    std::uint64_t threads = 0;
  };
  std::map<ProcessIncarnation, const DeviceUse*> processes;
  for (const ComputedOn& replica : replicas) processes[replica.process] = &replica.use;
  std::map<std::uint64_t, Device> devices;
  for (const auto& [process, use] : processes) {
    const DevicePeak& peak = use->peak;
    if (peak.multiply_adds_s == 0 || peak.device == 0) return std::nullopt;
    Device& device = devices[peak.device];
    device.rate = std::max(device.rate, peak.multiply_adds_s);
    device.cores = std::max(device.cores, peak.cores);
    device.threads += use->threads;
  }
  double sum = 0;
  for (const auto& [number, device] : devices) {
    const auto computing = std::min<std::uint64_t>(device.threads, device.cores);
    sum += static_cast<double>(device.rate) * static_cast<double>(computing);
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

std::optional<double> model_flops_utilisation(double multiply_adds, double tokens_per_s,
                                              std::optional<double> peak_multiply_adds_s) {
  if (!peak_multiply_adds_s || multiply_adds <= 0 || tokens_per_s <= 0) return std::nullopt;
  return multiply_adds * tokens_per_s / *peak_multiply_adds_s;
}

DeviceFigures figures_of(const DeviceUse& use) {
  DeviceFigures figures;
  figures.used_bytes = known(use.memory_bytes);
  figures.peak_bytes = known(use.memory_peak_bytes);
  if (use.over_us == 0) return figures;
  const auto over_us = static_cast<double>(use.over_us);
  figures.utilisation = std::min(1.0, static_cast<double>(use.busy_us) / over_us);
  const auto computing = static_cast<double>(std::min(use.threads, use.peak.cores));
  const double peak = computing * static_cast<double>(use.peak.multiply_adds_s);
  if (peak > 0) figures.mfu = static_cast<double>(use.multiply_adds) / (1e-6 * over_us * peak);
  return figures;
}

std::string figures_text(const DeviceFigures& figures) {
  std::string text;
  if (figures.utilisation) {
    add(text, compose("computing ", number_text(kPercent * *figures.utilisation, 0), " % of the time"));
  }
  if (figures.mfu) add(text, compose("MFU ", number_text(kPercent * *figures.mfu, 1), " %"));
  if (figures.used_bytes) add(text, size_text(*figures.used_bytes) + " in use");
  if (figures.peak_bytes) add(text, "at most " + size_text(*figures.peak_bytes));
  return text;
}

}  // namespace shoal
