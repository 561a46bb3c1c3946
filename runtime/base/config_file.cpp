// The only translation unit that includes toml++. Every source becomes a list of assignments that remember where they
// stood; they are applied in the order of precedence, then the values are checked against each other.
#include "runtime/base/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <numeric>

#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/compose.h"
#include "runtime/base/config_keys.h"
#include "runtime/base/file.h"
#include "runtime/base/machine/private_network.h"
#include "runtime/base/text/trimmed.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere

namespace shoal {
namespace {

constexpr std::string_view kPrefix = "SHOAL_";
constexpr std::string_view kOfCommand = "default of this command";

// The Config under construction and where each of its values came from.
struct Draft {
  Config config;
  std::map<std::string, std::string, std::less<>> origins;  // key's path -> "file:line", "--set", "SHOAL_..."

  [[nodiscard]] std::string origin(const std::string& key) const {
    const auto found = origins.find(key);
    return found == origins.end() ? "default" : found->second;
  }
};

Failure at(const std::string& origin, const std::string& what) { return fail(Error::kUsage, origin + ": " + what); }

// True for `whole`, and for what begins with it and a separator.
bool is_or_is_below(std::string_view name, std::string_view whole, char separator) {
  return name.starts_with(whole) && (name.size() == whole.size() || name[whole.size()] == separator);
}

Failure not_in_this_version(const std::string& origin, const std::string& path) {
  return at(origin, path + ": not in this version; launch/configs/default.toml lists all keys");
}

Failure unknown_key(const std::string& origin, const std::string& path) {
  for (const std::string& later : keys_not_in_this_version())
    if (is_or_is_below(path, later, '.')) return not_in_this_version(origin, later);
  std::vector<std::string> names;
  for (const auto& key : config_keys()) names.push_back(key.path());
  const std::string hint = did_you_mean(path, names);
  if (!hint.empty()) return at(origin, "unknown key '" + path + "'" + hint);
  const std::string last = path.substr(path.rfind('.') + 1);
  for (const auto& key : config_keys())
    if (key.name == last) return at(origin, "unknown key '" + path + "'; did you mean '" + key.path() + "'?");
  return at(origin, "unknown key '" + path + "'; launch/configs/default.toml lists all keys");
}

Status put(Draft& draft, const ConfigKey& key, Result<KeyValue> value, const std::string& origin) {
  if (!value) return at(origin, value.failure().message);
  if (key.set) key.set(draft.config, *value);
  draft.origins[key.path()] = origin;
  return Done{};
}

std::optional<KeyValue> value_of(const toml::node& node) {
  if (const auto* boolean = node.as_boolean()) return KeyValue(boolean->get());
  if (const auto* integer = node.as_integer()) return KeyValue(std::int64_t{integer->get()});
  if (const auto* real = node.as_floating_point()) return KeyValue(real->get());
  if (const auto* text = node.as_string()) return KeyValue(text->get());
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<double> numbers;
  for (const auto& element : *array) {
    const auto number = element.value<double>();
    if (!number || element.is_boolean()) return std::nullopt;
    numbers.push_back(*number);
  }
  return KeyValue(std::move(numbers));
}

Status apply_section(Draft& draft, const std::string& section, const toml::table& table, const std::string& name) {
  for (const auto& [key_name, node] : table) {
    const std::string path = compose(section, ".", key_name.str());
    const std::string origin = compose(name, ":", key_name.source().begin.line);
    const ConfigKey* key = find_config_key(path);
    if (key == nullptr) return unknown_key(origin, path);
    const auto value = value_of(node);
    if (!value) return at(origin, compose(path, ": expected ", describe_expected(*key)));
    if (auto status = put(draft, *key, check_value(*key, *value), origin); !status) return status;
  }
  return Done{};
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const auto& key : config_keys())
    if (names.empty() || names.back() != key.section) names.push_back(key.section);
  return names;
}

Status apply_text(Draft& draft, std::string_view text, const std::string& name) {
  const auto sections = section_names();
  try {
    const toml::table root = toml::parse(text);
    for (const auto& [section, node] : root) {
      const std::string word(section.str());
      const std::string origin = compose(name, ":", section.source().begin.line);
      const bool known = std::find(sections.begin(), sections.end(), word) != sections.end();
      if (!known && node.is_table()) return at(origin, "unknown section '" + word + "'" + did_you_mean(word, sections));
      if (!node.is_table()) return unknown_key(origin, word);
      if (auto status = apply_section(draft, word, *node.as_table(), name); !status) return status;
    }
  } catch (const toml::parse_error& problem) {
    return at(compose(name, ":", problem.source().begin.line), compose("not TOML: ", problem.description()));
  }
  return Done{};
}

// "data.corpus": SHOAL_DATA_CORPUS.
std::string variable_of(const std::string& path) {
  std::string name = std::string(kPrefix) + path;
  std::ranges::replace(name, '.', '_');
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

// True for what Kubernetes sets for a service that is named shoal...: SHOAL_SERVICE_HOST, SHOAL_PORT_7000_TCP.
bool tells_of_a_service(std::string_view name) {
  constexpr std::string_view kPort = "_PORT_";
  const auto port = name.find(kPort);
  const bool has_number = port != name.npos && name.find_first_of("0123456789", port) == port + kPort.size();
  const bool names_service = name.find("_SERVICE_HOST") != name.npos || name.find("_SERVICE_PORT") != name.npos;
  return has_number || names_service || name.ends_with("_PORT");
}

// True for a name that has the form SHOAL_SECTION_KEY and is no configuration.
bool is_for_others(std::string_view name) {
  constexpr std::string_view kOfTests[] = {"SHOAL_BUILD_DIR", "SHOAL_DEVICE_PATIENCE", "SHOAL_LONG_TESTS",
                                           "SHOAL_REBALANCE_WITHOUT", "SHOAL_WRITE_PAGES"};
  return std::ranges::find(kOfTests, name) != std::end(kOfTests) || tells_of_a_service(name);
}

Status apply_variable(Draft& draft, const std::string& name, const std::string& text) {
  std::vector<std::string> names;
  bool has_section = false;
  for (const auto& key : config_keys()) {
    names.push_back(variable_of(key.path()));
    if (names.back() == name) return put(draft, key, parse_value(key, text), name);
    has_section |= name.starts_with(names.back().substr(0, kPrefix.size() + key.section.size() + 1));
  }
  for (const std::string& later : keys_not_in_this_version())
    if (is_or_is_below(name, variable_of(later), '_')) return not_in_this_version(name, later);
  const bool has_form = name.find('_', kPrefix.size()) != name.npos;
  if (!has_section && (!has_form || is_for_others(name))) return Done{};
  return at(name, "this environment variable names no key" + did_you_mean(name, names));
}

Status apply_set(Draft& draft, const std::string& assignment, const std::string& origin) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos) return at(origin, "expected section.key=value");
  const std::string path = key_of_set(assignment);
  const ConfigKey* key = find_config_key(path);
  if (key == nullptr) return unknown_key(origin, path);
  return put(draft, *key, parse_value(*key, assignment.substr(equals + 1)), origin);
}

// But those that files leave to other keys (config_text.cpp).
bool has_every_key(const Draft& draft, const std::string& in_file) {
  return std::ranges::all_of(config_keys(), [&](const ConfigKey& key) {
    const bool may_lack = !key.get || key.path() == "model.vocabulary" || follows_other_keys(key);
    return may_lack || draft.origin(key.path()).starts_with(in_file);
  });
}

// Why the key has no effect; nothing where it has one.
std::optional<std::string> idle_because(const ConfigKey& key, const Config& config, const ConfigSources& sources,
                                        bool stands_in_file) {
  using InSingle = ConfigKey::InSingle;
  const bool is_left_out =
      key.in_single == InSingle::kIsLeftOut || (key.in_single == InSingle::kIsWiring && !stands_in_file);
  if (sources.is_single && is_left_out) return "one process trains alone (--single)";
  const bool is_of_others = sources.is_single && key.in_single != InSingle::kTakesPart;
  const auto rule = std::ranges::find_if(key.idle, [&](const IdleRule& one) { return one.holds(config); });
  if (rule == key.idle.end() || is_of_others) return std::nullopt;
  return rule->because;
}

std::vector<IdleKey> idle_keys(const Draft& draft, const ConfigSources& sources, const std::string& in_file,
                               bool is_whole_file) {
  Config standard;
  standard.optim.decay_steps = draft.config.run.steps;
  std::vector<IdleKey> idle;
  for (const ConfigKey& key : config_keys()) {
    const auto origin = draft.origins.find(key.path());
    if (origin == draft.origins.end() || origin->second == kOfCommand) continue;
    const bool stands_in_file = origin->second.starts_with(in_file);
    const auto because = idle_because(key, draft.config, sources, stands_in_file);
    if (!because) continue;
    const bool is_said = !stands_in_file || !is_whole_file || key.get(draft.config) != key.get(standard);
    if (is_said) idle.push_back({key.path(), *because, stands_in_file});
  }
  return idle;
}

// Two values that do not go together: names both, with their places.
Failure conflict(const Draft& draft, const std::string& one, const std::string& other, const std::string& rule) {
  const auto show = [&draft](const std::string& path) {
    return compose(path, " = ", toml_text(find_config_key(path)->get(draft.config)), " (", draft.origin(path), ")");
  };
  return fail(Error::kUsage, compose(show(one), " and ", show(other), ": ", rule));
}

Status check_rounds(const Draft& draft) {
  const SyncConfig& sync = draft.config.sync;
  if (sync.outer_update != OuterUpdate::kWait && sync.overlap > 0)
    return conflict(draft, "sync.overlap", "sync.outer_update",
                    "delayed and eager rounds overlap the whole next one; take an overlap of 0");
  if (sync.overlap >= sync.H)
    return conflict(draft, "sync.overlap", "sync.H",
                    "a round must be applied before its fragment's next one begins; take a smaller overlap");
  if (sync.fragments > draft.config.model.layers)
    return conflict(draft, "sync.fragments", "model.layers",
                    "fragments are made of whole layers; take at most as many as there are");
  if (sync.wire == WireFormat::kE3m0 && sync.backend == SyncBackend::kRing)
    return conflict(draft, "sync.wire", "sync.backend",
                    "a ring encodes each partial sum again, which four bits do not bear (a relative error of 0.42 with "
                    "eight members); take the owner backend, or int8");
  const int replicas_max = draft.config.pipeline.replicas_max;
  if (replicas_max > 0 && sync.quorum > replicas_max)
    return conflict(draft, "sync.quorum", "pipeline.replicas_max",
                    "no stage would ever have so many members; take a smaller quorum, or raise replicas_max");
  if (sync.inner_state != InnerState::kAverage) return Done{};
  if (sync.outer_update != OuterUpdate::kWait)
    return conflict(draft, "sync.inner_state", "sync.outer_update",
                    "averages are taken at the end of a round that is waited for; take keep or reset");
  if (sync.overlap > 0)
    return conflict(draft, "sync.inner_state", "sync.overlap",
                    "averages of a round in flight would undo the steps since; take an overlap of 0, or keep or reset");
  if (sync.wire == WireFormat::kInt8 || sync.wire == WireFormat::kE3m0)
    return conflict(draft, "sync.inner_state", "sync.wire",
                    "averages of squares do not survive so few bits; take fp32 or bf16, or keep or reset");
  return Done{};
}

Status check_nccl(const Draft& draft) {
  const SyncConfig& sync = draft.config.sync;
  if (sync.backend != SyncBackend::kNccl) return Done{};
  if (sync.mode == SyncMode::kDiloco)
    return conflict(draft, "sync.backend", "sync.mode",
                    "NCCL makes the sum of each step, and rounds go over the ring or by owners; take one of these");
  if (sync.private_network.empty())
    return conflict(draft, "sync.backend", "sync.private_network",
                    "NCCL's connections are neither encrypted nor authenticated; name the network that nobody else "
                    "reaches, as in 10.0.0.0/16, or take the ring");
  if (const auto network = parse_private_network(sync.private_network); !network)
    return at(draft.origin("sync.private_network"), "sync.private_network: " + network.failure().message);
  if (draft.config.swarm.share_devices)
    return conflict(draft, "sync.backend", "swarm.share_devices",
                    "a GPU that serves several stages would have several communicators at work; turn one of them off");
  return Done{};
}

// A key of a llama that is set for a GPT-2. A file may hold its default, as the resolved file of a run does.
Status check_gpt2(const Draft& draft) {
  if (draft.config.model.kind != ModelKind::kGpt2) return Done{};
  for (const ConfigKey& key : config_keys()) {
    const auto origin = draft.origins.find(key.path());
    if (!is_of_llama(key) || origin == draft.origins.end()) continue;
    const bool is_set = origin->second.starts_with("--set ") || key.get(draft.config) != key.get(Config{});
    if (is_set)
      return conflict(draft, key.path(), "model.kind", "a GPT-2 has no such part; take model.kind = \"llama\"");
  }
  return Done{};
}

Status check_model(const Draft& draft) {
  const ModelConfig& model = draft.config.model;
  const bool has_own_head_size = model.kind == ModelKind::kLlama && draft.origins.contains("model.head_size");
  if (!has_own_head_size && model.width % model.heads != 0)
    return conflict(draft, "model.width", "model.heads", "the width must be a multiple of the heads");
  if (model.kind == ModelKind::kGpt2) return check_gpt2(draft);
  if (model.heads % kv_heads_of(model) != 0)
    return conflict(draft, "model.heads", "model.kv_heads", "the heads must be a multiple of kv_heads");
  constexpr const char* kTurnPairs = "rotary positions turn pairs: a head must have an even size";
  if (head_size_of(model) % 2 != 0 && has_own_head_size)
    return at(draft.origin("model.head_size"), compose("model.head_size = ", model.head_size, ": ", kTurnPairs));
  if (head_size_of(model) % 2 != 0) return conflict(draft, "model.width", "model.heads", kTurnPairs);
  if (model.rope_low_freq_factor >= model.rope_high_freq_factor)
    return conflict(draft, "model.rope_low_freq_factor", "model.rope_high_freq_factor",
                    "the first must be below the second");
  return Done{};
}

Status check_cut(const Draft& draft) {
  const PipelineConfig& pipeline = draft.config.pipeline;
  if (pipeline.cut != Cut::kListed) return Done{};
  const auto& layers = pipeline.cut_listed;
  if (layers.size() != static_cast<std::size_t>(pipeline.stages))
    return conflict(draft, "pipeline.cut", "pipeline.stages",
                    compose("a list has the layers of each stage: expected ", pipeline.stages, " numbers, got ",
                            layers.size(), "; pipeline.cut=auto goes for any number of stages"));
  const std::int64_t all = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (all != draft.config.model.layers)
    return conflict(draft, "pipeline.cut", "model.layers", compose("the stages have ", all, " layers in all"));
  return Done{};
}

Status check_replicas(const Draft& draft) {
  const PipelineConfig& pipeline = draft.config.pipeline;
  const std::vector<int>& listed = pipeline.replicas_listed;
  if (!listed.empty() && listed.size() != static_cast<std::size_t>(pipeline.stages))
    return conflict(draft, "pipeline.replicas", "pipeline.stages",
                    compose("a list has one number for each stage: expected ", pipeline.stages, ", got ", listed.size(),
                            "; a single number goes for all stages"));
  const int most = listed.empty() ? pipeline.replicas : *std::ranges::max_element(listed);
  if (pipeline.replicas_max > 0 && pipeline.replicas_max < most)
    return conflict(draft, "pipeline.replicas_max", "pipeline.replicas",
                    "no stage may have more than replicas_max; raise it, or take 0 for no limit");
  return Done{};
}

Status check_together(const Draft& draft) {
  const Config& config = draft.config;
  if (auto status = check_model(draft); !status) return status;
  if (auto status = check_replicas(draft); !status) return status;
  if (config.pipeline.stages > config.model.layers)
    return conflict(draft, "pipeline.stages", "model.layers",
                    "each stage needs a layer of its own; take fewer stages or more layers");
  if (auto status = check_cut(draft); !status) return status;
  if (auto status = check_nccl(draft); !status) return status;
  if (config.swarm.share_devices && config.swarm.rebalance_every_s > 0)
    return conflict(draft, "swarm.share_devices", "swarm.rebalance_every_s",
                    "a worker that serves several stages is not moved; turn one of them off");
  if (config.batch.sequences % config.batch.microbatch != 0)
    return conflict(draft, "batch.sequences", "batch.microbatch", "the batch must be a whole number of microbatches");
  if (microbatches_per_step(config) > kMicrobatchesMax)
    return conflict(draft, "batch.sequences", "batch.microbatch",
                    compose("a step has at most ", kMicrobatchesMax, " microbatches; take larger ones"));
  if (microbatches_per_step(config) * config.pipeline.stages > kManifestEntriesMax)
    return conflict(draft, "batch.sequences", "pipeline.stages",
                    compose("microbatches of a step times stages are at most ", kManifestEntriesMax,
                            "; take larger microbatches or fewer stages"));
  if (config.swarm.dead_after_ms < 2 * config.swarm.heartbeat_ms)
    return conflict(draft, "swarm.dead_after_ms", "swarm.heartbeat_ms",
                    "a node may miss a heartbeat; allow at least two intervals");
  return check_rounds(draft);
}

// A vocabulary cannot be chosen but for its extra tokens; a file may repeat what the tokenizer says.
Status resolve_vocabulary(Draft& draft) {
  auto named = named_vocabulary(draft.config.data.tokenizer);
  if (named) *named += draft.config.model.extra_tokens;
  const bool is_set = draft.origins.contains("model.vocabulary");
  if (!is_set) draft.config.model.vocabulary = named.value_or(0);
  if (!named || draft.config.model.vocabulary == *named) return Done{};
  return conflict(
      draft, "model.vocabulary", "data.tokenizer",
      compose("that tokenizer and model.extra_tokens make a vocabulary of ", *named, "; leave model.vocabulary out"));
}

// Sizes of a llama that nothing sets.
void resolve_sizes(ModelConfig& model) {
  if (model.kind != ModelKind::kLlama) return;
  model.kv_heads = kv_heads_of(model);
  model.head_size = head_size_of(model);
  model.hidden = hidden_of(model);
}

Result<Config> finish(Draft draft) {
  if (auto status = resolve_vocabulary(draft); !status) return status.failure();
  if (draft.config.optim.decay_steps == 0) draft.config.optim.decay_steps = draft.config.run.steps;
  if (auto status = check_together(draft); !status) return status.failure();
  resolve_sizes(draft.config.model);
  return draft.config;
}

}  // namespace

std::optional<int> named_vocabulary(std::string_view tokenizer) {
  if (tokenizer == "bytes") return 256;
  if (tokenizer == "gpt2") return 50257;
  return std::nullopt;
}

std::string key_of_set(std::string_view assignment) {
  return std::string(trimmed(assignment.substr(0, assignment.find('='))));
}

std::vector<std::pair<std::string, std::string>> shoal_environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (!text.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(variables.begin(), variables.end());
  return variables;
}

Result<LoadedConfig> load_config_and_idle_keys(const ConfigSources& sources) {
  Draft draft;
  for (const auto& assignment : sources.defaults)
    if (auto status = apply_set(draft, assignment, std::string(kOfCommand)); !status) return status.failure();
  if (sources.path) {
    const auto text = read_file(*sources.path);
    if (!text) return fail(Error::kUsage, "the configuration: " + text.failure().message);
    if (auto status = apply_text(draft, *text, *sources.path); !status) return status.failure();
  }
  const std::string in_file = sources.path ? *sources.path + ":" : std::string("\n");
  const bool is_whole_file = sources.path && has_every_key(draft, in_file);
  for (const auto& [name, value] : sources.environment)
    if (auto status = apply_variable(draft, name, value); !status) return status.failure();
  for (const auto& assignment : sources.sets)
    if (auto status = apply_set(draft, assignment, "--set " + assignment); !status) return status.failure();
  auto idle = idle_keys(draft, sources, in_file, is_whole_file);
  auto config = finish(std::move(draft));
  if (!config) return config.failure();
  return LoadedConfig{std::move(*config), std::move(idle)};
}

Result<Config> load_config(const ConfigSources& sources) {
  auto loaded = load_config_and_idle_keys(sources);
  if (!loaded) return loaded.failure();
  return std::move(loaded->config);
}

Result<Config> parse_config(std::string_view text, const std::string& name) {
  Draft draft;
  if (auto status = apply_text(draft, text, name); !status) return status.failure();
  return finish(std::move(draft));
}

}  // namespace shoal
