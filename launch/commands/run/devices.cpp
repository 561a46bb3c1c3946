// Names stay in the order in which they were given.
#include "launch/commands/run/devices.h"

#include <algorithm>
#include <optional>

#include "runtime/base/compose.h"
#include "runtime/base/text/enumerate.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/executor/device_name.h"

namespace shoal {
namespace {

[[nodiscard]] Failure about(const std::string& word, const Failure& failure) {
  return fail(failure.error, compose("--device ", word, ": ", failure.message));
}

// A machine may have an old card for its display beside those that compute.
[[nodiscard]] std::vector<std::string> usable_gpus(const std::vector<GpuFacts>& devices,
                                                   const std::function<void(const std::string&)>& warn) {
  std::vector<std::string> usable;
  for (int index = 0; const GpuFacts& facts : devices) {
    const std::string lack = device_lack(index, facts);
    if (lack.empty()) usable.push_back(compose("cuda:", index));
    if (!lack.empty()) warn("--device cuda leaves one out: " + lack);
    ++index;
  }
  return usable;
}

}  // namespace

Status check_device_words(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (const auto name = parse_device(word); !name) return fail(Error::kUsage, "--" + name.failure().message);
  }
  return Done{};
}

Result<std::vector<std::string>> settle_devices(const std::vector<std::string>& words,
                                                const std::function<DriverAnswers()>& ask,
                                                const std::function<void(const std::string&)>& warn) {
  std::vector<std::string> settled;
  std::optional<DriverAnswers> answers;
  for (const std::string& word : words) {
    const auto name = parse_device(word);
    if (!name) return fail(Error::kUsage, "--" + name.failure().message);
    const bool is_gpu = name->kind == DeviceKind::kCuda || name->kind == DeviceKind::kEveryCuda;
    if (!is_gpu) {
      settled.push_back(word);
      continue;
    }
    if (!answers) answers = ask();
    const auto devices = usable_devices(*answers);
    if (!devices) return about(word, devices.failure());
    if (name->kind == DeviceKind::kCuda) {
      if (const auto device = usable_device(*answers, name->index); !device) return about(word, device.failure());
      settled.push_back(word);
      continue;
    }
    for (const std::string& gpu : usable_gpus(*devices, warn)) settled.push_back(gpu);
  }
  return settled;
}

Result<std::string> settle_one_device(const std::string& word, const std::function<DriverAnswers()>& ask) {
  const auto settled = settle_devices({word}, ask);
  if (!settled) return settled.failure();
  if (settled->size() == 1) return settled->front();
  return about(word, fail(Error::kUsage, compose("this machine has ", settled->size(), " GPUs, and this command ",
                                                 "computes on one: name it, as in ", settled->front())));
}

Status check_collective_devices(const std::vector<std::string>& devices,
                                const std::function<bool()>& sums_on_processors) {
  const bool has_gpu = std::ranges::any_of(devices, [](const std::string& word) {
    const auto name = parse_device(word);
    return name && name->kind == DeviceKind::kCuda;
  });
  if (has_gpu || sums_on_processors()) return Done{};
  return fail(
      Error::kUsage,
      "sync.backend = \"nccl\": NCCL sums on GPUs, and this run computes on processors; give each replica a GPU "
      "of its own (--device cuda), or take sync.backend = \"ring\" (with --resume and sync.reduction = \"fast\" also "
      "--branch NAME: a ring adds up in another order)");
}

std::string idle_devices_warning(const std::vector<std::string>& devices, std::uint64_t nodes) {
  if (nodes == 0 || devices.size() <= nodes) return {};
  const std::vector<std::string> idle(devices.begin() + static_cast<std::ptrdiff_t>(nodes), devices.end());
  return compose("of ", devices.size(), " devices ", nodes, " go to ", counted(nodes, "node"), ", and nobody gets ",
                 enumerate(idle), ": give --nodes ", devices.size(), ", with stages or replicas for them");
}

}  // namespace shoal
