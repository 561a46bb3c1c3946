// How well devices are used: model FLOPs utilisation, the share of the time in which one computed, its memory. Pure.
//
//   MFU = FLOPs of the model for the tokens that were trained / (time x peak FLOP/s)
//
// (Chowdhery et al., "PaLM", 2022, Appendix B; the model's FLOPs: training_multiply_adds() in model/layer_list.h.) What
// recomputation or evaluation costs is in the time alone. The peak is measured: the product of large matrices, by the
// process itself when it starts, in the run's precision. It is of one core, times the compute threads, but never more
// than the cores of their machine; a GPU is one core. A paced device has none, and whatever is not known is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "messages/values/device_use.h"

namespace shoal {

// What a person reads of a process's use of its device.
struct DeviceFigures {
  std::optional<double> utilisation;  // share of the time, from 0 to 1
  std::optional<double> mfu;          // passes that a fault had repeated count again
  std::optional<std::uint64_t> used_bytes;
  std::optional<std::uint64_t> peak_bytes;
  friend bool operator==(const DeviceFigures&, const DeviceFigures&) = default;
};

[[nodiscard]] DeviceFigures figures_of(const DeviceUse& use);

// Says "computing 93 % of the time, MFU 41.2 %, 310.0 MB in use, at most 350.0 MB" of what is known; empty: nothing.
[[nodiscard]] std::string figures_text(const DeviceFigures& figures);

// What a replica computes on, as its report of a step says. Replicas of one process tell of the same device.
struct ComputedOn {
  ProcessIncarnation process;
  DeviceUse use;
};

// Multiply-adds per second of all that the replicas compute on together. Nothing where one of them is not known.
[[nodiscard]] std::optional<double> peak_multiply_adds_s(const std::vector<ComputedOn>& replicas);

// multiply_adds: to train a token, of the whole model; 0: not known. tokens_per_s: of the whole run.
[[nodiscard]] std::optional<double> model_flops_utilisation(double multiply_adds, double tokens_per_s,
                                                            std::optional<double> peak_multiply_adds_s);

}  // namespace shoal
