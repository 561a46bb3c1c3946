// Columns, sentences, JSON.
#include "runtime/plan/resources/plan_report.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kItemWidth = 14;
constexpr std::size_t kCellWidthMin = 11;  // at least; wider where a cell needs more
constexpr std::size_t kGap = 2;

std::string size_words(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return compose(std::setprecision(3), value, " ", kUnits[unit]);
}

std::string layers_words(const PlannedStage& stage) {
  const int last = stage.cut.first_layer + stage.cut.layer_count - 1;
  return last == stage.cut.first_layer ? compose(last) : compose(stage.cut.first_layer, "-", last);
}

std::string machines_words(const PlannedStage& stage) {
  std::string text;
  std::vector<std::string> seen;
  for (const MachineKind& machine : stage.machines) {
    if (std::ranges::count(seen, machine.name) > 0) continue;
    seen.push_back(machine.name);
    const auto count = std::ranges::count(stage.machines, machine.name, &MachineKind::name);
    text += compose(text.empty() ? "" : " ", count, "x", machine.name);
  }
  return text.empty() ? compose(stage.replicas) : text;
}

// Wide enough for the words and numbers that have no bounded length.
std::size_t cell_width(const std::vector<PlannedStage>& stages) {
  std::size_t width = kCellWidthMin;
  for (const PlannedStage& stage : stages) {
    for (const std::string& text : {layers_words(stage), machines_words(stage), compose(stage.cut.parameter_count)}) {
      width = std::max(width, text.size() + kGap);
    }
  }
  return width;
}

template <class Value>
std::string row(std::string_view name, const std::vector<PlannedStage>& stages, const Value& value) {
  const auto width = static_cast<int>(cell_width(stages));
  std::string text = compose(std::left, std::setw(kItemWidth), name);
  for (const PlannedStage& stage : stages) text += compose(std::setw(width), value(stage));
  return text;
}

std::string table_text(const RunPlan& plan) {
  const auto& stages = plan.stages;
  std::size_t number = 0;
  std::string text = row("stage", stages, [&](const PlannedStage&) { return compose(number++); }) + "\n";
  text += row("layers", stages, layers_words) + "\n";
  text +=
      row("parameters", stages, [](const PlannedStage& stage) { return compose(stage.cut.parameter_count); }) + "\n";
  text += row("replicas", stages, machines_words) + "\n\nbytes of each replica\n";
  for (const MemoryItem& item : memory_items()) {
    text += row(item.name, stages, [&](const PlannedStage& stage) { return size_words(stage.memory.*item.bytes); }) +
            "  " + std::string(item.meaning) + "\n";
  }
  text += row("at most", stages, [](const PlannedStage& stage) { return size_words(total_bytes(stage.memory)); });
  text += "  a step computes (gradients, activations, letters) or reduces, never both\n";
  text += row("credits", stages, [](const PlannedStage& stage) { return compose(stage.credits.microbatches); }) +
          "  microbatches in flight at each replica\n";
  text += row("most credits", stages, [](const PlannedStage& stage) { return compose(stage.credits.at_most); }) +
          "  of them, where links take long or a stage has fewer replicas\n";
  text += row("inputs", stages, [](const PlannedStage& stage) { return size_words(stage.credits.input_bytes); }) +
          "  of those, from the stage before\n";
  text += row("slow behind", stages, [](const PlannedStage& stage) { return size_words(stage.credits.total_bytes); }) +
          "  bytes of each replica where a slow one makes it hold them all\n";
  text += row("on a GPU", stages, [](const PlannedStage& stage) { return size_words(stage.on_gpu); }) +
          "  of its memory where a replica computes there, holding them all; `fits` is about processors\n";
  text += row("beside a GPU", stages, [](const PlannedStage& stage) { return size_words(stage.beside_gpu); }) +
          "  of the memory of such a GPU's machine\n";
  text += row("fits", stages, [](const PlannedStage& stage) { return std::string(stage.fits ? "yes" : "no"); }) + "\n";
  return text;
}

std::string traffic_text(const RunPlan& plan) {
  std::string text = "\nbytes of a step, over all replicas\n";
  for (std::size_t i = 0; i < plan.traffic.borders.size(); ++i) {
    const BorderTraffic& border = plan.traffic.borders[i];
    text += compose("stage ", i, " to ", i + 1, ": activations ", size_words(border.activation), ", gradients back ",
                    size_words(border.gradient), "\n");
  }
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    text += compose("stage ", i, ": each of its ", counted(plan.stages[i].replicas, "replica"), " sends ",
                    size_words(plan.traffic.reduce_per_member[i]), " to sum gradients; a newcomer copies ",
                    size_words(plan.traffic.state_copy[i]), " once\n");
  }
  return text;
}

std::string list_words(const std::vector<int>& layers) {
  std::string text;
  for (const int count : layers) text += compose(text.empty() ? "[" : ",", count);
  return text + "]";
}

std::string speed_text(const RunPlan& plan) {
  if (!plan.tokens_per_s) {
    return "\ntokens per second: unknown; give --speed, --gflops or --run DIR\n";
  }
  const StepTime& time = *plan.time;
  std::string text =
      compose("\ntokens per second: ", std::setprecision(4), *plan.tokens_per_s, "; a step takes ", time.total_s,
              " s: ", time.compute_s, " s in stage ", time.slowest_stage, ", the slowest, ", time.fill_s,
              " s to fill and empty the others, the rest to sum and commit\n");
  for (const OneMore& more : plan.one_more) {
    const double percent = 100 * (more.tokens_per_s / *plan.tokens_per_s - 1);
    text += compose("one more ", more.kind, ", in stage ", more.stage, ": ", std::setprecision(4), more.tokens_per_s,
                    " tokens/s, ", std::showpos, std::setprecision(3), percent, " %\n");
  }
  if (plan.better_cut) {
    const double percent = 100 * (plan.better_cut->tokens_per_s / *plan.tokens_per_s - 1);
    text += compose("with --set pipeline.cut=", list_words(plan.better_cut->layers),
                    ", layers by the machines' speeds: ", std::setprecision(4), plan.better_cut->tokens_per_s,
                    " tokens/s, ", std::showpos, std::setprecision(3), percent, " %\n");
  }
  if (plan.price_per_billion_tokens) {
    text += compose("price of a billion tokens: ", std::setprecision(4), *plan.price_per_billion_tokens, "\n");
  }
  return text;
}

std::string fit_text(const RunPlan& plan) {
  if (plan.fits) return "";
  const bool needs_all = plan.would_fit.empty();
  const std::vector<std::string>& settings = needs_all ? plan.would_fit_together : plan.would_fit;
  if (settings.empty()) {
    return "\nIt does not fit: not with a stage for each layer, recomputation, one credit and microbatches of one "
           "sequence together.\n";
  }
  std::string text = compose("\nIt does not fit. It would with ", needs_all ? "all" : "any", " of\n");
  for (const std::string& setting : settings) text += "  --set " + setting + "\n";
  return text;
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json stage_json(const PlannedStage& stage) {
  Json json;
  json["layers"] = Json::array();
  for (int i = 0; i < stage.cut.layer_count; ++i) json["layers"].push_back(stage.cut.first_layer + i);
  json["parameters"] = stage.cut.parameter_count;
  json["replicas"] = stage.replicas;
  json["machines"] = Json::array();
  for (const MachineKind& machine : stage.machines) json["machines"].push_back(machine.name);
  for (const MemoryItem& item : memory_items()) json["bytes"][std::string(item.name)] = stage.memory.*item.bytes;
  json["bytes"]["total"] = total_bytes(stage.memory);
  json["bytes"]["on_gpu"] = stage.on_gpu;
  json["bytes"]["beside_gpu"] = stage.beside_gpu;
  json["credits"] = {{"microbatches", stage.credits.microbatches},
                     {"at_most", stage.credits.at_most},
                     {"input_bytes", stage.credits.input_bytes},
                     {"total_bytes", stage.credits.total_bytes}};
  json["fits"] = stage.fits;
  return json;
}

Json traffic_json(const StepTraffic& traffic) {
  Json json = {{"activation", traffic.activation}, {"gradient", traffic.gradient}, {"reduce", traffic.reduce}};
  json["borders"] = Json::array();
  for (const BorderTraffic& border : traffic.borders) {
    json["borders"].push_back({{"activation", border.activation}, {"gradient", border.gradient}});
  }
  json["reduce_per_member"] = traffic.reduce_per_member;
  json["state_copy"] = traffic.state_copy;
  return json;
}

}  // namespace

std::string text_of(const RunPlan& plan) {
  return table_text(plan) + traffic_text(plan) + speed_text(plan) + fit_text(plan);
}

std::string json_of(const RunPlan& plan) {
  Json json;
  json["stages"] = Json::array();
  for (const PlannedStage& stage : plan.stages) json["stages"].push_back(stage_json(stage));
  json["tokens_per_s"] = or_null(plan.tokens_per_s);
  json["step_s"] = nullptr;
  if (plan.time) {
    json["step_s"] = {{"total", plan.time->total_s},
                      {"compute", plan.time->compute_s},
                      {"fill", plan.time->fill_s},
                      {"slowest_stage", plan.time->slowest_stage}};
  }
  json["link_bytes_per_step"] = traffic_json(plan.traffic);
  json["fits"] = plan.fits;
  json["would_fit"] = plan.would_fit;
  json["would_fit_together"] = plan.would_fit_together;
  json["one_more"] = Json::array();
  for (const OneMore& more : plan.one_more) {
    json["one_more"].push_back({{"kind", more.kind}, {"stage", more.stage}, {"tokens_per_s", more.tokens_per_s}});
  }
  json["better_cut"] = nullptr;
  if (plan.better_cut) {
    json["better_cut"] = {{"layers", plan.better_cut->layers}, {"tokens_per_s", plan.better_cut->tokens_per_s}};
  }
  json["price_per_billion_tokens"] = or_null(plan.price_per_billion_tokens);
  return json.dump() + "\n";
}

}  // namespace shoal
