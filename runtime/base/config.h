// The configuration of a run as values. Keys, units and defaults are the contract of launch/KEYS.md.
//
// A Config that came out of config_file.h is valid: ranges were checked and unknown keys refused with line, what was
// expected and the nearest name. 0 means "off" for every, keep (keep all), clip_norm, dropout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shoal {

enum class ModelKind { kGpt2, kLlama };
enum class Precision { kFp32, kBf16 };
enum class RopeScaling { kNone, kLinear, kLlama3 };
enum class Schedule { k1f1b, kAfab };
enum class Cut { kAuto, kEven, kListed };
enum class Routing { kIwrr, kUniform, kStatic, kCostToGo };
enum class OptimizerKind { kAdamw, kSgd };
enum class LearningRateSchedule { kCosine, kConstant };
enum class Reduction { kFast, kExact };
enum class SyncMode { kEveryStep, kDiloco };
enum class OuterUpdate { kWait, kDelayed, kEager };
enum class EagerVariant { kAgreed, kPaper };
enum class FragmentPattern { kStrided, kSequential };
enum class WireFormat { kFp32, kBf16, kInt8, kE3m0 };
enum class InnerState { kKeep, kAverage, kReset };
enum class SyncBackend { kRing, kOwner, kNccl };
enum class TraceLevel { kLifecycle, kOff, kAll };

struct RunConfig {
  std::string name;  // empty: taken from the run directory's name
  std::uint64_t steps = 600;
  std::uint64_t seed = 1;
  int threads = 1;  // compute threads per stage
  std::string out;  // empty: runs/<UTC time>-<corpus>
};

struct ModelConfig {
  ModelKind kind = ModelKind::kGpt2;
  Precision precision = Precision::kFp32;  // of products of matrices and of attention
  int layers = 4;
  int heads = 4;
  int width = 128;
  int context = 128;  // tokens
  double dropout = 0;
  double init_std = 0.02;
  int vocabulary = 256;  // the tokenizer's and extra_tokens: never chosen by itself
  int extra_tokens = 0;  // the last of the vocabulary: no text has them
  // llama alone. Sizes of 0 follow from the others: see below.
  int kv_heads = 0;
  int head_size = 0;
  int hidden = 0;
  bool qk_norm = false;
  double norm_eps = 1e-5;
  double rope_theta = 10000;
  RopeScaling rope_scaling = RopeScaling::kNone;
  double rope_factor = 1;
  double rope_low_freq_factor = 1;
  double rope_high_freq_factor = 4;
  int rope_original_context = 8192;  // tokens
};

// Sizes of a llama as they are in effect.
[[nodiscard]] inline int kv_heads_of(const ModelConfig& model) {
  return model.kv_heads > 0 ? model.kv_heads : model.heads;
}
[[nodiscard]] inline int head_size_of(const ModelConfig& model) {
  return model.head_size > 0 ? model.head_size : model.width / model.heads;
}
// Llama's: 8/3 of the width, rounded up to a multiple of 256.
[[nodiscard]] inline int hidden_of(const ModelConfig& model) {
  return model.hidden > 0 ? model.hidden : (8 * model.width / 3 + 255) / 256 * 256;
}

struct DataConfig {
  std::string corpus = "austen";  // austen | kjv | path
  std::string tokenizer = "bytes";
  double validation_fraction = 0.1;
};

struct BatchConfig {
  int sequences = 64;  // per step, over all replicas
  int microbatch = 8;  // sequences per microbatch
};

struct PipelineConfig {
  int stages = 2;
  int replicas = 2;
  std::vector<int> replicas_listed;  // one for each stage; empty: `replicas` of every stage
  Cut cut = Cut::kAuto;
  std::vector<int> cut_listed;  // layers of each stage, where the cut is kListed
  int replicas_max = 0;         // the most that later nodes may bring a stage to; 0: no limit
  Schedule schedule = Schedule::k1f1b;
  int credits = 0;  // microbatches in flight per replica of stage 0; 0: by schedule
  bool recompute = false;
  WireFormat activations = WireFormat::kFp32;  // encodes activations and their gradients between stages; never kE3m0
  Routing routing = Routing::kIwrr;
};

struct OptimConfig {
  OptimizerKind kind = OptimizerKind::kAdamw;
  double lr = 1e-3;
  double min_lr = 1e-4;
  std::uint64_t warmup_steps = 60;
  std::uint64_t decay_steps = 0;  // resolved to run.steps when the file does not set it
  LearningRateSchedule schedule = LearningRateSchedule::kCosine;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;
};

struct SyncConfig {
  SyncMode mode = SyncMode::kEveryStep;
  Reduction reduction = Reduction::kFast;
  bool allow_mixed_kernels = false;
  std::uint64_t H = 50;  // inner steps of a round
  double outer_lr = 0.7;
  double outer_momentum = 0.9;
  OuterUpdate outer_update = OuterUpdate::kWait;
  EagerVariant eager_variant = EagerVariant::kAgreed;
  std::uint64_t outer_warmup = 0;  // rounds that are averaged plainly
  int fragments = 1;               // parts of a stage that are synchronised apart
  FragmentPattern pattern = FragmentPattern::kStrided;
  std::uint64_t overlap = 0;  // inner steps between a contribution and its round's update
  double mix = 0;             // share of the local parameters that a round's update keeps
  WireFormat wire = WireFormat::kFp32;
  bool error_feedback = false;
  InnerState inner_state = InnerState::kKeep;
  bool requeue_lost = false;
  int quorum = 0;      // members without which a round does not advance; 0: all
  double grace_s = 0;  // wait for the others once the quorum is there
  SyncBackend backend = SyncBackend::kRing;
  std::string private_network;  // as in 10.0.0.0/16; empty: none is declared
};

struct SwarmConfig {
  int heartbeat_ms = 500;
  int dead_after_ms = 10000;
  int restart_budget = 3;  // replicas started again on one worker within the window
  double restart_window_s = 60;
  int rebalance_every_s = 0;   // time between moves of replicas to loaded stages; 0: off
  bool share_devices = false;  // lets a worker hold several stages where machines are fewer than stages need
};

struct EvalConfig {
  std::uint64_t every = 100;
  int batches = 20;       // 0: all of the validation tokens
  int final_batches = 0;  // batches of the last evaluation; 0: all of the validation tokens
};

struct CheckpointConfig {
  std::uint64_t every = 200;
  int keep = 3;
  std::string dir;  // empty: checkpoints/ in the run directory
};

struct TraceConfig {
  TraceLevel level = TraceLevel::kLifecycle;
};

struct LogConfig {
  std::string level = "info";
  std::uint64_t every = 10;  // steps between printed lines
};

struct Config {
  RunConfig run;
  ModelConfig model;
  DataConfig data;
  BatchConfig batch;
  PipelineConfig pipeline;
  OptimConfig optim;
  SyncConfig sync;
  SwarmConfig swarm;
  EvalConfig eval;
  CheckpointConfig checkpoint;
  TraceConfig trace;
  LogConfig log;
};

// Bounds what routers keep of a step (S-6).
inline constexpr int kMicrobatchesMax = 4096;
// Times stages: bounds a journal entry, which names each of them.
inline constexpr int kManifestEntriesMax = 32768;

// Microbatches of a step: batch.sequences / batch.microbatch (validated to divide).
[[nodiscard]] inline int microbatches_per_step(const Config& config) {
  return config.batch.sequences / config.batch.microbatch;
}

// Target tokens of a step: the planned token count of exact mode's fixed point (DESIGN.md §4.9).
[[nodiscard]] inline std::uint64_t planned_tokens(const Config& config) {
  return static_cast<std::uint64_t>(config.batch.sequences) * static_cast<std::uint64_t>(config.model.context);
}

}  // namespace shoal
