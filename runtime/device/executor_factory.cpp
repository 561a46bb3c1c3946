// Reads the device's name, cuts the model, builds the executor and what decorates it.
#include "runtime/device/executor_factory.h"

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <ATen/Context.h>

#include "model/partition.h"
#include "model/parts/attention_choice.h"
#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "runtime/base/log.h"
#include "runtime/device/cpu_stage_executor.h"
#include "runtime/device/decorators/encoding_stage_executor.h"
#include "runtime/device/decorators/paced_stage_executor.h"
#include "runtime/device/gemm_choice.h"
#include "runtime/device/microbatch_input.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/queue/queued_stage_executor.h"
#include "runtime/device/queue/stream_queue.h"
#include "runtime/device/torch_device.h"
#include "runtime/executor/device_name.h"

namespace shoal {
namespace {

Status check_device(const DeviceName& device, const ExecutorConfig& config) {
  if (device.kind == DeviceKind::kEveryCuda) {
    return fail(Error::kUsage, "device '" + config.device + "': an executor is of one device; name one, as in cuda:0");
  }
  return check_units(config.device, config.config.model, device_plugin());
}

// Recorded passes are asked for by the environment: they are an experiment (runtime/device/cuda/README.md).
bool wants_graphs() {
  const char* const asked = std::getenv("SHOAL_GRAPHS");
  return asked != nullptr && std::string_view(asked) == "1";
}

// Says whether bf16 may attend by cuDNN's operator, and else logs why not.
bool has_cudnn_attention(const DeviceName& device, const Config& config) {
  if (config.model.precision != Precision::kBf16) return false;
  const Status has_cudnn = device_plugin()->check_cudnn_attention(device.index);
  const AttentionChoice choice = attention_choice({.is_bf16 = true,
                                                   .head_size = head_size_of(config.model),
                                                   .tokens = config.model.context,
                                                   .repeats = config.sync.reduction == Reduction::kExact,
                                                   .has_cudnn = has_cudnn.ok()});
  if (choice.forward == AttentionOperator::kCudnn) return true;
  const bool is_flash = choice.forward == AttentionOperator::kFlash;
  log_info("device", "attention is torch's ", is_flash ? "flash" : "memory-efficient",
           " operator: ", is_flash && !has_cudnn ? has_cudnn.failure().message : std::string(choice.because));
  return false;
}

std::unique_ptr<StageExecutor> on_gpu(const ExecutorConfig& config, const DeviceName& device, const StagePlan& plan) {
  settle_arithmetic(config.config.sync.reduction, has_cudnn_attention(device, config.config));
  auto queue = make_stream_queue(torch_device(config.device), wants_graphs() ? device_plugin()->record : nullptr);
  std::shared_ptr<const DeviceMath> math = device_plugin()->make_math(queue);
  QueuedStageExecutor::Settings settings{config.answers, std::move(math), config.begins};
  return std::make_unique<QueuedStageExecutor>(config.config, plan, std::move(queue), std::move(settings));
}

std::unique_ptr<StageExecutor> encoding(std::unique_ptr<StageExecutor> device, const Config& config) {
  return std::make_unique<EncodingStageExecutor>(std::move(device), config.pipeline.activations, border_shape(config));
}

std::unique_ptr<StageExecutor> paced(std::unique_ptr<StageExecutor> device, const DeviceName& pace) {
  static const auto shared =
      std::make_shared<PacedDevice>(std::make_shared<SteadyClock>(), pace);  // a process has one device
  return std::make_unique<PacedStageExecutor>(std::move(device), shared,
                                              [](Instant end) { std::this_thread::sleep_until(end); });
}

}  // namespace

std::optional<double> pace_ms_of(const std::string& device) {
  const auto name = parse_device(device);
  return name && name->kind == DeviceKind::kPaced ? std::optional(name->pace_ms) : std::nullopt;
}

Result<std::unique_ptr<StageExecutor>> make_stage_executor(const ExecutorConfig& config) {
  const auto device = parse_device(config.device);
  if (!device) return device.failure();
  if (auto status = check_device(*device, config); !status) return status.failure();
  const bool is_whole_pipeline = config.stages == config.config.pipeline.stages;
  const auto plans = is_whole_pipeline ? partition(config.config) : partition(config.config.model, config.stages);
  if (!plans.ok()) return plans.failure();
  if (config.stage.value >= plans->size()) {
    return fail(Error::kUsage, compose("stage ", config.stage, " of a pipeline of ", config.stages, " stages"));
  }
  prepare_process_for_compute();
  give_memory_back();  // frees that of the stage that was here before, on another thread
  const StagePlan& plan = (*plans)[config.stage.value];
  if (device->kind == DeviceKind::kCuda) return on_gpu(config, *device, plan);
  std::unique_ptr<StageExecutor> executor = std::make_unique<CpuStageExecutor>(config.config, plan, config.begins);
  const bool is_encoded = config.stages > 1 && config.config.pipeline.activations != WireFormat::kFp32;
  if (is_encoded) executor = encoding(std::move(executor), config.config);  // part of the work that a pace is about
  if (device->kind == DeviceKind::kPaced) executor = paced(std::move(executor), *device);
  return executor;
}

}  // namespace shoal
