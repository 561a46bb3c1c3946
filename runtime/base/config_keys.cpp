// The table itself. Each section is a function that appends its keys in order; `bind` ties a key to its field.
#include "runtime/base/config_keys.h"

#include "runtime/base/key_section.h"

namespace shoal {
namespace {

constexpr auto kStay = ResumeRule::kMustStay;
constexpr auto kChange = ResumeRule::kMayChange;

#define FIELD(path) \
  [](auto& config) -> auto& { return config.path; }

void add_run_and_model(std::vector<ConfigKey>& keys) {
  Section run(keys, "run");
  run.add("name", FIELD(run.name), "", kStay, "name of the run; empty: the name of its directory");
  run.add("steps", FIELD(run.steps), "steps", kChange, "optimiser steps of the run").range.least = 1;
  run.add("seed", FIELD(run.seed), "", kStay, "seed of the initial weights, the order of the samples and dropout");
  run.add("threads", FIELD(run.threads), "threads", kChange, "compute threads per stage").range = between(1, 1024);
  run.add("out", FIELD(run.out), "", kChange, "run directory; empty: runs/<UTC time>-<corpus>");

  Section model(keys, "model");
  model.choose("kind", FIELD(model.kind), {"gpt2", "llama"}, kStay,
               "architecture: GPT-2; or Llama, and Qwen3 with model.qk_norm");
  model.choose("precision", FIELD(model.precision), {"fp32", "bf16"}, kStay,
               "numbers in products of matrices and in attention; bf16 needs a processor with avx512_bf16 or amx_bf16 "
               "or a GPU of sm_80 and later, and everything else stays float32");
  model.add("layers", FIELD(model.layers), "", kStay, "transformer blocks").range = between(1, 1024);
  model
      .add("heads", FIELD(model.heads), "", kStay,
           "attention heads per block; divides width unless model.head_size is set")
      .range = between(1, 1024);
  model.add("width", FIELD(model.width), "", kStay, "elements of a token's vector").range = between(1, 65536);
  model.add("context", FIELD(model.context), "tokens", kStay, "length of a sequence").range = between(1, 65536);
  model
      .add("dropout", FIELD(model.dropout), "", kStay,
           "probability of dropping on the embedding and the residual branches; 0: off")
      .range = {0, 1, false, true};
  model
      .add("init_std", FIELD(model.init_std), "", kStay,
           "standard deviation of the initial weights; residual projections: init_std / sqrt(2 layers)")
      .range = above(0);
  ConfigKey& vocabulary = model.add("vocabulary", FIELD(model.vocabulary), "tokens", kStay,
                                    "the tokenizer's and model.extra_tokens; written down for a tokenizer that is "
                                    "a file, any other number is refused");
  vocabulary.range = between(1, std::numeric_limits<int>::max());
  vocabulary.default_text = "data.tokenizer";
  model
      .add("extra_tokens", FIELD(model.extra_tokens), "tokens", kStay,
           "rows of the vocabulary behind the tokenizer's: tokens that only shards have, or none has (padding); sample "
           "never picks them")
      .range = between(0, 65536);
}

void add_llama(std::vector<ConfigKey>& keys) {
  Section model(keys, "model");
  ConfigKey& kv_heads =
      model.add("kv_heads", FIELD(model.kv_heads), "", kStay,
                "heads of keys and values in a llama; divides heads, and each serves heads / kv_heads "
                "queries");
  kv_heads.range = between(1, 1024);
  kv_heads.default_text = "model.heads";
  ConfigKey& head_size =
      model.add("head_size", FIELD(model.head_size), "", kStay, "elements of a head in a llama, even");
  head_size.range = between(2, 1024);
  head_size.default_text = "model.width / model.heads";
  ConfigKey& hidden =
      model.add("hidden", FIELD(model.hidden), "", kStay, "elements of the hidden layer of a llama's MLP");
  hidden.range = between(1, 1 << 20);
  hidden.default_text = "8/3 model.width, rounded up to a multiple of 256";
  model.add("qk_norm", FIELD(model.qk_norm), "", kStay, "normalise queries and keys head by head, as Qwen3 does");
  model.add("norm_eps", FIELD(model.norm_eps), "", kStay, "RMSNorm's term under the root").range = above(0);
  model.add("rope_theta", FIELD(model.rope_theta), "", kStay, "base of the frequencies of rotary positions").range =
      above(0);
  model.choose("rope_scaling", FIELD(model.rope_scaling), {"none", "linear", "llama3"}, kStay,
               "stretches rotary positions: all alike, or as Llama 3.1 does, the slow ones alone");
  model.add("rope_factor", FIELD(model.rope_factor), "", kStay, "what rope_scaling stretches by").range = at_least(1);
  model
      .add("rope_low_freq_factor", FIELD(model.rope_low_freq_factor), "turns", kStay,
           "llama3: what turns less often within rope_original_context is stretched by the whole factor")
      .range = above(0);
  model
      .add("rope_high_freq_factor", FIELD(model.rope_high_freq_factor), "turns", kStay,
           "llama3: what turns more often within rope_original_context is not stretched")
      .range = above(0);
  model
      .add("rope_original_context", FIELD(model.rope_original_context), "tokens", kStay,
           "llama3: the context that the model was made for first")
      .range.least = 1;
}

void add_data_and_batch(std::vector<ConfigKey>& keys) {
  Section data(keys, "data");
  data.add(
      "corpus", FIELD(data.corpus), "", kStay,
      "\"austen\", \"kjv\", the path of a text file, or shards of tokens in llm.c's format: a .bin file, a folder of "
      "them, a pattern (\"fineweb/*.bin\")");
  data.add("tokenizer", FIELD(data.tokenizer), "", kStay,
           "what a token is: \"bytes\" (a vocabulary of 256), \"gpt2\" (50257), the path of a .tiktoken file, or "
           "that of a tokenizer.json (GPT-2, Llama 3, Qwen, SmolLM)");
  data.add("validation_fraction", FIELD(data.validation_fraction), "", kStay,
           "share of the tokens, at the end of the text, that is never trained on; what is left for training must "
           "have twice model.context tokens, and the share one more than model.context")
      .range = {0, 1, true, true};

  Section batch(keys, "batch");
  batch.add("sequences", FIELD(batch.sequences), "sequences", kStay, "global batch of a step, over all replicas")
      .range = between(1, 1 << 20);
  batch
      .add("microbatch", FIELD(batch.microbatch), "sequences", kStay,
           "sequences of one microbatch; divides batch.sequences")
      .range = between(1, 1 << 20);
}

void add_pipeline(std::vector<ConfigKey>& keys) {
  Section pipeline(keys, "pipeline");
  pipeline.add("stages", FIELD(pipeline.stages), "", kChange, "parts the model is cut into; at most model.layers")
      .range = between(1, 1024);
  pipeline
      .choose_or_list("cut", std::pair(FIELD(pipeline.cut), FIELD(pipeline.cut_listed)), {"auto", "even"}, kChange,
                      "layers of each stage: by cost, so that the dearest stage is as cheap as can be; as many in "
                      "each; or those that a list gives")
      .range = between(1, 1024);
  pipeline
      .counts("replicas", FIELD(pipeline.replicas), FIELD(pipeline.replicas_listed), kChange,
              "copies of each stage that the start waits for: one number for all stages, or a list with one for each")
      .range = between(1, 1024);
  pipeline
      .add("replicas_max", FIELD(pipeline.replicas_max), "", kChange,
           "copies of each stage that later nodes may bring it to; 0: no limit, and the nodes that `shoal train` "
           "starts beyond those needed are spares")
      .range = between(0, 1024);
  pipeline.choose("schedule", FIELD(pipeline.schedule), {"1f1b", "afab"}, kChange,
                  "order of forwards and backwards: backwards first, or all forwards before all backwards");
  pipeline.add("credits", FIELD(pipeline.credits), "microbatches", kChange,
               "microbatches in flight per replica; 0: by schedule, and up to twice as many where links are slow or "
               "replicas few");
  pipeline.add("recompute", FIELD(pipeline.recompute), "", kChange,
               "keep a microbatch's input, not its graph, and compute the forward again; not in a last or only stage");
  pipeline.choose("activations", FIELD(pipeline.activations), {"fp32", "bf16", "int8"}, kStay,
                  "form of activations and their gradients on the wire between stages");
  pipeline.choose(
      "routing", FIELD(pipeline.routing), {"iwrr", "uniform", "static", "cost_to_go"}, kChange,
      "how paths are chosen: by measured speed, at random, microbatch i to replica i mod R, or by who is done "
      "with it soonest, links included");
}

void add_optim(std::vector<ConfigKey>& keys) {
  Section optim(keys, "optim");
  optim.choose("kind", FIELD(optim.kind), {"adamw", "sgd"}, kStay, "optimiser; sgd has no momentum").later = {"muon"};
  optim.add("lr", FIELD(optim.lr), "", kStay, "learning rate after the warm-up").range = above(0);
  optim.add("min_lr", FIELD(optim.min_lr), "", kStay, "learning rate from decay_steps on").range = at_least(0);
  optim.add("warmup_steps", FIELD(optim.warmup_steps), "steps", kStay,
            "the learning rate rises as lr * (t + 1) / warmup_steps; 0: off");
  ConfigKey& decay = optim.add("decay_steps", FIELD(optim.decay_steps), "steps", kStay,
                               "horizon of the learning-rate schedule; --steps does not change it");
  decay.range.least = 1;
  decay.default_text = "run.steps";
  optim.choose("schedule", FIELD(optim.schedule), {"cosine", "constant"}, kStay, "learning rate after the warm-up")
      .later = {"wsd"};
  ConfigKey& betas = optim.append("betas", "", "decay of AdamW's two moments");
  betas.type = KeyType::kRealPair;
  betas.range = {0, 1, false, true};
  betas.get = [](const Config& config) {
    return KeyValue(std::vector<double>{config.optim.beta1, config.optim.beta2});
  };
  betas.set = [](Config& config, const KeyValue& value) {
    config.optim.beta1 = std::get<std::vector<double>>(value).at(0);
    config.optim.beta2 = std::get<std::vector<double>>(value).at(1);
  };
  betas.default_text = toml_text(betas.get(Config{}));
  optim.add("eps", FIELD(optim.eps), "", kStay, "AdamW's term in the denominator").range = above(0);
  optim.add("weight_decay", FIELD(optim.weight_decay), "", kStay, "decoupled decay of matrices and embeddings only")
      .range = at_least(0);
  optim.add("clip_norm", FIELD(optim.clip_norm), "", kStay, "bound of the gradient's global norm; 0: off").range =
      at_least(0);
}

void add_sync(std::vector<ConfigKey>& keys) {
  Section sync(keys, "sync");
  sync.choose("mode", FIELD(sync.mode), {"every_step", "diloco"}, kStay,
              "every_step: one sum per step; diloco: own steps, and a mean every H of them");
  sync.choose("reduction", FIELD(sync.reduction), {"fast", "exact"}, kStay,
              "fast: fp32 sums; exact: fixed-point sums, the same bits however the run is wired");
  sync.add("allow_mixed_kernels", FIELD(sync.allow_mixed_kernels), "", kStay,
           "let nodes with different kernel fingerprints join an exact run");
  sync.add("H", FIELD(sync.H), "steps", kStay, "inner steps of a round").range = between(1, 1 << 30);
  sync.add("outer_lr", FIELD(sync.outer_lr), "", kStay, "learning rate of the outer update").range = above(0);
  sync.add("outer_momentum", FIELD(sync.outer_momentum), "", kStay, "Nesterov momentum of the outer update").range = {
      0, 1, false, true};
  sync.choose("outer_update", FIELD(sync.outer_update), {"wait", "delayed", "eager"}, kStay,
              "when the outer update is applied: at its round's end, one round later, or at once with the others' part "
              "one round later");
  sync.choose("eager_variant", FIELD(sync.eager_variant), {"agreed", "paper"}, kStay,
              "what eager updates leave behind: true means only, or each worker's own outer parameters");
  sync.add("outer_warmup", FIELD(sync.outer_warmup), "rounds", kStay,
           "first rounds that are averaged plainly, without outer learning rate and momentum");
  sync.add("fragments", FIELD(sync.fragments), "", kStay, "parts of a stage's weights that take turns in rounds")
      .range = between(1, 1024);
  sync.choose("pattern", FIELD(sync.pattern), {"strided", "sequential"}, kStay,
              "how layers are dealt to fragments: one by one, or in runs");
  sync.add("overlap", FIELD(sync.overlap), "steps", kStay,
           "inner steps that go on between a contribution and its round's update");
  sync.add("mix", FIELD(sync.mix), "", kStay, "share of the local parameters that an outer update keeps").range =
      between(0, 1);
  sync.choose("wire", FIELD(sync.wire), {"fp32", "bf16", "int8", "e3m0"}, kStay,
              "form of a round's numbers on the wire, e3m0 with backend owner alone; a step's sums travel as they are")
      .later = {"topk"};
  sync.add("error_feedback", FIELD(sync.error_feedback), "", kStay, "add what encoding lost to the next round");
  sync.choose(
      "inner_state", FIELD(sync.inner_state), {"keep", "average", "reset"}, kStay,
      "the inner optimiser's averages after a round: each replica's own, the mean (three times the bytes), none");
  sync.add("requeue_lost", FIELD(sync.requeue_lost), "", kStay,
           "train what was lost with a replica again, as microbatches of later steps");
  // `quorum` may change because pipeline.replicas may: a run on fewer machines could not reach the quorum it had.
  sync.add("quorum", FIELD(sync.quorum), "members", kChange,
           "members that no round is closed without: the run waits for nodes; 0: all there are; fewer than that: give "
           "grace_s, too");
  sync.add("grace_s", FIELD(sync.grace_s), "s", kChange,
           "wait for the others once the quorum is there; 0: not a moment, and what they trained for the round is lost")
      .range = between(0, 86400);
  sync.choose("backend", FIELD(sync.backend), {"ring", "owner", "nccl"}, kStay,
              "how replicas add up: a ring; each part of a round at its owner; a step by NCCL on GPUs, or a ring");
  sync.add("private_network", FIELD(sync.private_network), "", kChange,
           "as in 10.0.0.0/16: where NCCL may connect, neither encrypted nor authenticated; empty: nowhere");
}

void add_swarm_and_files(std::vector<ConfigKey>& keys) {
  Section swarm(keys, "swarm");
  swarm
      .add("rebalance_every_s", FIELD(swarm.rebalance_every_s), "s", kChange,
           "time between looks at whether a replica should move to a stage that needs it more; also when a stage "
           "lost capacity; 0: off")
      .range = between(0, 86400);
  swarm.add("share_devices", FIELD(swarm.share_devices), "", kChange,
            "lets a worker serve several stages where machines are fewer than stages x replicas: the run starts, and "
            "goes on, slower instead of waiting; a machine that joins later takes a stage over");
  swarm.add("heartbeat_ms", FIELD(swarm.heartbeat_ms), "ms", kChange, "time between heartbeats of a node").range =
      between(10, 3600000);
  swarm.add("dead_after_ms", FIELD(swarm.dead_after_ms), "ms", kChange, "silence after which a node counts as lost")
      .range = between(20, 86400000);
  swarm
      .add("restart_budget", FIELD(swarm.restart_budget), "", kChange,
           "times a replica is started again on one worker within the window; after that its process is started again, "
           "and another worker takes the replica; 0: no limit")
      .range = between(0, 1000);
  swarm.add("restart_window_s", FIELD(swarm.restart_window_s), "s", kChange, "the window of restart_budget").range = {
      0, 86400, true, false};

  Section eval(keys, "eval");
  eval.add("every", FIELD(eval.every), "steps", kChange, "steps between evaluations; 0: only the one at the end");
  eval.add("batches", FIELD(eval.batches), "batches", kChange,
           "size of a periodic evaluation in batches of batch.sequences windows; 0: all of the validation tokens");
  eval.add("final_batches", FIELD(eval.final_batches), "batches", kChange,
           "size of the last evaluation, in such batches; 0: all of the validation tokens");

  Section checkpoint(keys, "checkpoint");
  checkpoint.add("every", FIELD(checkpoint.every), "steps", kChange, "steps between checkpoints; 0: only the last");
  checkpoint.add("keep", FIELD(checkpoint.keep), "checkpoints", kChange, "newest checkpoints that are kept; 0: all");
  checkpoint.add("dir", FIELD(checkpoint.dir), "", kChange,
                 "folder of the checkpoints, one run's alone; empty: in the run directory");

  Section trace(keys, "trace");
  trace.choose("level", FIELD(trace.level), {"lifecycle", "off", "all"}, kChange,
               "what actors record: starts, ends, views and faults; nothing; every message too");

  Section log(keys, "log");
  log.choose("level", FIELD(log.level), {"info", "debug", "warn", "error"}, kChange, "least weight of a logged line");
  log.add("every", FIELD(log.every), "steps", kChange, "steps between printed lines; 0: off");
}

#undef FIELD

// Adds the rule to these keys. Rules say only what is certain: a wrong warning is worse than none.
void idle_while(std::vector<ConfigKey>& keys, const std::vector<std::string>& paths, const IdleRule& rule) {
  for (ConfigKey& key : keys) {
    if (std::find(paths.begin(), paths.end(), key.path()) != paths.end()) key.idle.push_back(rule);
  }
}

// One process has one stage and one replica, and nobody to send to.
void add_what_single_leaves_out(std::vector<ConfigKey>& keys) {
  for (ConfigKey& key : keys) {
    const bool is_wiring = key.section == "pipeline" || key.section == "swarm" || key.section == "trace" ||
                           key.path() == "sync.allow_mixed_kernels";
    if (is_wiring) key.in_single = ConfigKey::InSingle::kIsWiring;
    if (key.path() == "pipeline.activations") key.in_single = ConfigKey::InSingle::kIsLeftOut;
  }
}

void add_idle_rules(std::vector<ConfigKey>& keys) {
  idle_while(keys, {"model.rope_factor"},
             {[](const Config& config) { return config.model.rope_scaling == RopeScaling::kNone; },
              "model.rope_scaling = \"none\""});
  idle_while(keys, {"model.rope_low_freq_factor", "model.rope_high_freq_factor", "model.rope_original_context"},
             {[](const Config& config) { return config.model.rope_scaling != RopeScaling::kLlama3; },
              "model.rope_scaling is not \"llama3\""});
  idle_while(
      keys,
      {"sync.H", "sync.outer_lr", "sync.outer_momentum", "sync.outer_update", "sync.eager_variant", "sync.outer_warmup",
       "sync.fragments", "sync.pattern", "sync.overlap", "sync.mix", "sync.wire", "sync.error_feedback",
       "sync.inner_state", "sync.requeue_lost", "sync.quorum", "sync.grace_s"},
      {[](const Config& config) { return config.sync.mode == SyncMode::kEveryStep; }, "sync.mode = \"every_step\""});
  idle_while(
      keys, {"sync.backend"},
      {[](const Config& c) { return c.sync.mode == SyncMode::kEveryStep && c.sync.backend == SyncBackend::kOwner; },
       "sync.mode = \"every_step\""});  // a step that NCCL does not sum goes over the ring
  idle_while(keys, {"sync.private_network"},
             {[](const Config& c) { return c.sync.backend != SyncBackend::kNccl; }, "sync.backend is not \"nccl\""});
  idle_while(keys, {"pipeline.activations", "pipeline.recompute", "pipeline.cut", "swarm.share_devices"},
             {[](const Config& config) { return config.pipeline.stages == 1; }, "pipeline.stages = 1"});
  idle_while(keys, {"sync.eager_variant"},
             {[](const Config& config) { return config.sync.outer_update != OuterUpdate::kEager; },
              "sync.outer_update is not \"eager\""});
  idle_while(keys, {"sync.error_feedback"},
             {[](const Config& config) { return config.sync.wire == WireFormat::kFp32; }, "sync.wire = \"fp32\""});
  idle_while(keys, {"sync.grace_s"}, {[](const Config& config) { return config.sync.quorum == 0; }, "sync.quorum = 0"});
  idle_while(keys, {"sync.pattern"}, {[](const Config& c) { return c.sync.fragments == 1; }, "sync.fragments = 1"});
  idle_while(
      keys, {"sync.allow_mixed_kernels"},
      {[](const Config& config) { return config.sync.reduction == Reduction::kFast; }, "sync.reduction = \"fast\""});
  idle_while(keys, {"optim.betas", "optim.eps", "sync.inner_state"},
             {[](const Config& config) { return config.optim.kind == OptimizerKind::kSgd; }, "optim.kind = \"sgd\""});
  idle_while(keys, {"optim.min_lr", "optim.decay_steps"},
             {[](const Config& config) { return config.optim.schedule == LearningRateSchedule::kConstant; },
              "optim.schedule = \"constant\""});
  idle_while(keys, {"eval.batches"}, {[](const Config& config) { return config.eval.every == 0; }, "eval.every = 0"});
}

std::vector<ConfigKey> make_table() {
  std::vector<ConfigKey> keys;
  keys.reserve(128);
  add_run_and_model(keys);
  add_llama(keys);
  add_data_and_batch(keys);
  add_pipeline(keys);
  add_optim(keys);
  add_sync(keys);
  add_swarm_and_files(keys);
  add_idle_rules(keys);
  add_what_single_leaves_out(keys);
  return keys;
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> table = make_table();
  return table;
}

const ConfigKey* find_config_key(std::string_view path) {
  const auto& keys = config_keys();
  const auto found = std::find_if(keys.begin(), keys.end(), [path](const auto& key) { return key.path() == path; });
  return found == keys.end() ? nullptr : &*found;
}

const std::vector<std::string>& keys_not_in_this_version() {
  static const std::vector<std::string> paths = {"data.source"};
  return paths;
}

bool follows_other_keys(const ConfigKey& key) {
  constexpr std::string_view kSizes[] = {"optim.decay_steps", "model.kv_heads", "model.head_size", "model.hidden"};
  return std::ranges::find(kSizes, key.path()) != std::end(kSizes);
}

bool is_of_llama(const ConfigKey& key) {
  constexpr std::string_view kNames[] = {"kv_heads", "head_size", "hidden", "qk_norm", "norm_eps"};
  return key.section == "model" &&
         (key.name.starts_with("rope_") || std::ranges::find(kNames, key.name) != std::end(kNames));
}

}  // namespace shoal
