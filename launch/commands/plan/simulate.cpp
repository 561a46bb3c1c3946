// Options to a scenario; results to stdout.
#include "launch/commands/plan/simulate.h"

#include <algorithm>
#include <sstream>

#include "launch/commands/plan/measured.h"
#include "launch/say.h"
#include "model/partition.h"
#include "runtime/base/file.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/plan/bandwidth_report.h"

namespace shoal {
namespace {

constexpr std::uint64_t kWorkersMax = 64;
constexpr double kNarrowBits = 4 + 16.0 / 256;      // one value of E3M0, with its share of the block's scale
constexpr BandwidthGrid kRunGrid{0.0001, 100, 61};  // a run's own models are small

Failure simulate_usage(const std::string& what) { return fail(Error::kUsage, "simulate bandwidth: " + what); }

Result<ComparisonOrder> order_of_model(const std::string& name) {
  const auto model = std::ranges::find(kPublishedModels, name, &PublishedModel::name);
  if (model == kPublishedModels.end()) return simulate_usage("--model " + name + ": there are 1B, 10B and 100B");
  ComparisonOrder order;
  order.workload = published_workload(*model);
  order.settings = published_settings(*model);
  return order;
}

double bits_of(WireFormat wire) {
  switch (wire) {
    case WireFormat::kFp32: return 32;
    case WireFormat::kBf16: return 16;
    case WireFormat::kInt8: return 8;
    case WireFormat::kE3m0: return kNarrowBits;
  }
  return 32;
}

// The stage that has most to send.
Result<Workload> workload_of(const Config& config, const MeasuredStep& step) {
  const auto stages = partition(config);
  if (!stages) return stages.failure();
  const auto largest = std::ranges::max_element(*stages, {}, &StagePlan::parameter_count);
  Workload work;
  work.name = "the run's largest stage";
  work.layers = static_cast<std::size_t>(largest->layer_count);
  work.step_s = step.step_s;
  work.forward_share = step.forward_share;
  work.values_per_layer = static_cast<double>(largest->parameter_count) / largest->layer_count;
  return work;
}

Result<ComparisonOrder> order_of_run(const std::string& directory) {
  const auto run = measured_run(directory);
  if (!run) return run.failure();
  const Config& config = run->config;
  const MeasuredStep& step = run->step;
  const auto work = workload_of(config, step);
  if (!work) return work.failure();
  say("measured ", step.steps, " steps of ", directory, ": ", step.step_s * 1e3, " ms, and ", step.reduce_s * 1e3,
      " ms to reduce");
  ComparisonOrder order;
  order.workload = *work;
  order.settings.H = config.sync.H;
  order.settings.fragments = std::min(work->layers, static_cast<std::size_t>(std::max(config.sync.fragments, 1)));
  order.settings.overlap_steps = std::max<std::uint64_t>(config.sync.overlap, 1);
  order.settings.bits = bits_of(config.sync.wire);
  order.settings.narrow_bits = kNarrowBits;
  order.settings.pattern = config.sync.pattern;
  order.settings.grain = SyncGrain::kStep;
  order.network.workers = std::max<std::size_t>(replicas_wanted(config.pipeline).most(), 2);
  order.network.exchange = config.sync.backend == SyncBackend::kOwner ? Exchange::kOwner : Exchange::kRing;
  order.grid = kRunGrid;
  return order;
}

Status take_network(const Options& options, Network& network) {
  const auto workers = options.count("--workers", 1);
  if (!workers) return workers.failure();
  if (*workers) {
    if (**workers > kWorkersMax) return simulate_usage("--workers: at most " + std::to_string(kWorkersMax));
    network.workers = static_cast<std::size_t>(**workers);
  }
  if (const auto word = options.value("--exchange")) {
    if (*word != "gather" && *word != "ring" && *word != "owner") {
      return simulate_usage("--exchange " + *word + ": expected gather, ring or owner");
    }
    network.exchange = *word == "gather" ? Exchange::kGather : *word == "ring" ? Exchange::kRing : Exchange::kOwner;
  }
  const auto latency_ms = options.number("--latency-ms", 0);
  if (!latency_ms) return latency_ms.failure();
  network.latency_s = latency_ms->value_or(0) / 1000;
  const auto jitter = options.number("--jitter", 0);
  if (!jitter) return jitter.failure();
  network.jitter = jitter->value_or(0);
  const auto seed = options.count("--seed", 0);
  if (!seed) return seed.failure();
  network.seed = seed->value_or(network.seed);
  return Done{};
}

// "1,1,0.25": one rate per worker, as a share of the bandwidth.
Status take_links(const Options& options, Network& network) {
  const auto text = options.value("--links");
  if (!text) return Done{};
  std::istringstream words(*text);
  for (std::string word; std::getline(words, word, ',');) {
    std::istringstream number(word);
    double factor = 0;
    if (!(number >> factor) || !number.eof() || factor <= 0) {
      return simulate_usage("--links " + *text + ": expected a rate above 0 per worker, as in 1,1,0.25");
    }
    network.link_factors.push_back(factor);
  }
  if (!options.has("--workers")) network.workers = std::max<std::size_t>(network.link_factors.size(), 1);
  return Done{};
}

Status take_settings(const Options& options, MethodSettings& settings) {
  const auto H = options.count("--H", 1);
  if (!H) return H.failure();
  const auto fragments = options.count("--fragments", 1);
  if (!fragments) return fragments.failure();
  const auto overlap = options.count("--overlap", 0);
  if (!overlap) return overlap.failure();
  const auto bits = options.number("--bits", 1);
  if (!bits) return bits.failure();
  settings.H = H->value_or(settings.H);
  settings.fragments = static_cast<std::size_t>(fragments->value_or(settings.fragments));
  settings.overlap_steps = overlap->value_or(settings.overlap_steps);
  settings.bits = bits->value_or(settings.bits);
  if (const auto word = options.value("--pattern")) {
    if (*word != "strided" && *word != "sequential") return simulate_usage("--pattern: expected strided or sequential");
    settings.pattern = *word == "strided" ? FragmentPattern::kStrided : FragmentPattern::kSequential;
  }
  return Done{};
}

Status take_methods(const Options& options, ComparisonOrder& order) {
  for (const std::string& word : options.values("--method")) {
    const auto method = method_named(word);
    if (!method) {
      std::string names;
      for (const Method known : kMethods) names += " " + std::string(name_of(known));
      return simulate_usage("--method " + word + ": there are" + names);
    }
    order.methods.push_back(*method);
  }
  if (order.methods.empty()) order.methods.assign(kMethods.begin(), kMethods.end());
  const auto gbit_s = options.number("--gbit", 1e-6);
  if (!gbit_s) return gbit_s.failure();
  order.gbit_s = *gbit_s;
  return Done{};
}

Result<ComparisonOrder> order_of(const Options& options) {
  const auto run = options.value("--run");
  auto order = run ? order_of_run(*run) : order_of_model(*options.value("--model"));
  if (!order) return order;
  for (const Status& taken : {take_network(options, order->network), take_links(options, order->network),
                              take_settings(options, order->settings), take_methods(options, *order)}) {
    if (!taken) return taken.failure();
  }
  return order;
}

Status write_chart(const SimulateBandwidthOptions& options, const std::vector<Comparison>& comparisons) {
  const auto written = replace_file(*options.svg, draw(chart_of(comparisons)));
  if (written) say("wrote ", *options.svg);
  return written;
}

Result<int> run_table(const SimulateBandwidthOptions& options) {
  const PublishedTable table = make_published_table();
  print(options.form == OutputForm::kJson ? json_of(table) : text_of(table));
  if (!options.svg) return 0;
  std::vector<Comparison> comparisons;
  for (const PublishedModel& model : kPublishedModels) comparisons.push_back(published_comparison(model));
  if (const auto written = write_chart(options, comparisons); !written) return written.failure();
  return 0;
}

}  // namespace

Result<SimulateBandwidthOptions> simulate_bandwidth_options(const Options& options) {
  SimulateBandwidthOptions out;
  out.form = options.has("--json") ? OutputForm::kJson : OutputForm::kText;
  out.svg = options.value("--svg");
  const bool has_table = options.has("--table");
  if (has_table + options.has("--model") + options.has("--run") != 1) {
    return simulate_usage("say one of --table, --model 1B|10B|100B, --run DIR");
  }
  if (has_table) {
    for (const char* name : {"--method", "--workers", "--exchange", "--latency-ms", "--links", "--jitter", "--seed",
                             "--H", "--fragments", "--overlap", "--bits", "--pattern", "--gbit"}) {
      if (options.has(name))
        return simulate_usage(std::string(name) + " goes with --model or --run; the table is what it is");
    }
    return out;
  }
  auto order = order_of(options);
  if (!order) return order.failure();
  out.order = std::move(*order);
  return out;
}

Result<int> run_simulate_bandwidth(const SimulateBandwidthOptions& options) {
  if (!options.order) return run_table(options);
  const auto comparison = compare(*options.order);
  if (!comparison) return simulate_usage(comparison.failure().message);
  print(options.form == OutputForm::kJson ? json_of(*comparison) : text_of(*comparison));
  if (!options.svg) return 0;
  if (const auto written = write_chart(options, {*comparison}); !written) return written.failure();
  return 0;
}

}  // namespace shoal
