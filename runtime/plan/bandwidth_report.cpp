// Columns, sentences, panels.
#include "runtime/plan/bandwidth_report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMethodWidth = 23;
constexpr int kModelWidth = 7;
constexpr int kColumnWidth = 9;

std::string header(std::string_view second) {
  std::ostringstream out;
  out << std::left << std::setw(kMethodWidth) << "method" << std::setw(kModelWidth) << second << std::right;
  for (const double share : kUtilisations) out << std::setw(kColumnWidth - 2) << share * 100 << " %";
  return std::move(out).str();
}

std::string line_of(std::string_view first, std::string_view second, const std::vector<std::string>& cells) {
  std::ostringstream out;
  out << std::left << std::setw(kMethodWidth) << first << std::setw(kModelWidth) << second << std::right;
  for (const std::string& cell : cells) out << std::setw(kColumnWidth) << cell;
  out << "\n";
  return std::move(out).str();
}

std::string general(double value, int digits = 3) {
  std::ostringstream out;
  out << std::setprecision(digits) << value;
  return std::move(out).str();
}

const PublishedModel& model_of(const BandwidthRow& row) {
  return *std::ranges::find(kPublishedModels, row.model, &PublishedModel::name);
}

std::vector<BandwidthRow> without_eager(const std::vector<BandwidthRow>& rows) {
  std::vector<BandwidthRow> out;
  std::ranges::copy_if(rows, std::back_inserter(out),
                       [](const BandwidthRow& row) { return row.method != Method::kEagerOverlapFp4; });
  return out;
}

std::string row_text(const BandwidthRow& row, std::string& deviations) {
  const auto published = published_gbit_s(row.method, model_of(row));
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const std::string there = printed_gbit_s(published[i]);
    const bool is_other = row.method != Method::kEagerOverlapFp4 && cell_text(row, i) != there;
    cells.push_back(cell_text(row, i) + (is_other ? "*" : " "));
    if (!is_other) continue;
    deviations += "* " + std::string(name_of(row.method)) + ", " + row.model + ", " + general(kUtilisations[i] * 100) +
                  " %: published " + there + "\n";
  }
  return line_of(name_of(row.method), row.model, cells);
}

// Rate that any overlap has to carry in the long run, at full utilisation.
double conserved_gbit_s(const PublishedModel& model) {
  const Scenario scenario = published_scenario(Method::kEagerOverlapFp4, model);
  const double computing_s = static_cast<double>(scenario.schedule.period_steps) * scenario.workload.step_s;
  return sent_bits_per_period(scenario) / computing_s / 1e9;
}

std::string eager_text(const PublishedTable& table) {
  std::string conserved;
  for (const PublishedModel& model : kPublishedModels) {
    conserved += " " + with_decimals(conserved_gbit_s(model), 2) + " (" + std::string(model.name) + ")";
  }
  std::string text =
      "\nThe eager rows above are the steady state: whatever overlaps, each round has to send its bits, which at full\n"
      "utilisation takes" +
      conserved +
      " Gbit/s. The published eager rows are lower: they are what\n"
      "two rounds from a cold start need, which never pay for what the second one sent.\n";
  for (const BandwidthRow& row : table.cold_eager) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      cells.push_back(row.cells[i] ? printed_gbit_s(gbit_s_at({}, *row.cells[i])) + " " : "- ");
    }
    text += line_of("  two rounds, cold", row.model, cells);
  }
  for (const PublishedModel& model : kPublishedModels) {
    std::vector<std::string> cells;
    for (const double gbit_s : published_gbit_s(Method::kEagerOverlapFp4, model)) {
      cells.push_back(printed_gbit_s(gbit_s) + " ");
    }
    text += line_of("  published", model.name, cells);
  }
  return text;
}

// "  - " and the sentence, in lines of at most 110 characters.
std::string listed(const std::vector<std::string>& sentences) {
  constexpr std::size_t kColumns = 110;
  std::string text = "\nAssumptions\n";
  for (const std::string& sentence : sentences) {
    std::istringstream words(sentence);
    std::string line = "  -";
    for (std::string word; words >> word;) {
      if (line.size() + 1 + word.size() > kColumns) {
        text += line + "\n";
        line = "   ";
      }
      line += " " + word;
    }
    text += line + "\n";
  }
  return text;
}

Json cell_json(const std::string& text) { return text == "-" ? Json(nullptr) : Json(std::stod(text)); }

Json rows_json(const std::vector<BandwidthRow>& rows) {
  Json out = Json::array();
  for (const BandwidthRow& row : rows) {
    Json cells = Json::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) cells.push_back(cell_json(cell_text(row, i)));
    out.push_back({{"method", name_of(row.method)}, {"model", row.model}, {"gbit_s", cells}});
  }
  return out;
}

std::string exchange_name(Exchange exchange) {
  switch (exchange) {
    case Exchange::kGather: return "gather";
    case Exchange::kRing: return "ring";
    case Exchange::kOwner: return "owner";
  }
  return "";
}

std::string closely_text(const Comparison& comparison) {
  if (!comparison.order.gbit_s) return "";
  std::ostringstream out;
  out << "\nAt " << general(*comparison.order.gbit_s) << " Gbit/s\n"
      << std::left << std::setw(kMethodWidth) << "method" << std::right << std::setw(14) << "utilisation"
      << std::setw(12) << "steps" << std::setw(14) << "lost ms" << std::setw(16) << "sent Mbit"
      << "   of a period\n";
  for (const ComparisonRow& row : comparison.rows) {
    out << std::left << std::setw(kMethodWidth) << name_of(row.method) << std::right << std::fixed
        << std::setprecision(2) << std::setw(12) << row.closely->share * 100 << " %" << std::setw(12)
        << row.schedule.period_steps << std::setw(14) << row.closely->lost_s * 1e3 << std::setw(16)
        << row.closely->sent_bits / 1e6 << "\n";
  }
  return std::move(out).str();
}

std::string grid_text(const BandwidthGrid& grid, const std::optional<std::size_t>& cell) {
  return cell ? general(gbit_s_at(grid, *cell)) : "-";
}

}  // namespace

PublishedTable make_published_table() { return {published_rows(), cold_eager_rows()}; }

std::string text_of(const PublishedTable& table) {
  std::string text = "Gbit/s between two datacentres for a compute utilisation of\n" + header("model") + "\n";
  std::string deviations;
  for (const BandwidthRow& row : table.rows) text += row_text(row, deviations);
  const Agreement agreement = agreement_with_published(without_eager(table.rows));
  std::ostringstream sum;
  sum << "\nWithout the eager rows " << agreement.exact << " of " << agreement.cells << " cells are as published, "
      << agreement.within_one << " within one step of the grid.\n"
      << deviations;
  return text + std::move(sum).str() + eager_text(table) + listed(published_assumptions());
}

std::string json_of(const PublishedTable& table) {
  Json published = Json::array();
  for (const BandwidthRow& row : table.rows) {
    published.push_back({{"method", name_of(row.method)},
                         {"model", row.model},
                         {"gbit_s", published_gbit_s(row.method, model_of(row))}});
  }
  const Json json = {{"rows", rows_json(table.rows)},
                     {"cold_eager_rows", rows_json(table.cold_eager)},
                     {"published_rows", published},
                     {"assumptions", published_assumptions()}};
  return json.dump() + "\n";
}

std::vector<std::string> assumptions_of(const Comparison& comparison) {
  const Workload& work = comparison.order.workload;
  const Network& network = comparison.order.network;
  const MethodSettings& settings = comparison.order.settings;
  std::vector<std::string> out;
  out.push_back(work.name + ": " + general(static_cast<double>(work.layers)) + " layers of " +
                general(work.values_per_layer) + " values, " + general(work.step_s) + " s a step, " +
                general(work.forward_share * 100) + " % of it forward");
  out.push_back(std::to_string(network.workers) + " workers, " + exchange_name(network.exchange) + ", " +
                general(network.latency_s * 1e3) + " ms a hop, a link each way per worker" +
                (network.link_factors.empty() ? "" : ", of unequal rates"));
  if (network.jitter > 0) {
    out.push_back("steps and transfers vary by " + general(network.jitter * 100) + " %, seed " +
                  std::to_string(network.seed));
  }
  out.push_back("H = " + std::to_string(settings.H) + ", " + std::to_string(settings.fragments) +
                " fragments when streaming, overlap " + std::to_string(settings.overlap_steps) + " steps, " +
                general(settings.bits) + " bits per value, " + general(settings.narrow_bits) + " with fp4");
  out.push_back(settings.grain == SyncGrain::kLayer
                    ? "a layer is sent when its backward ends, and needed by its forward"
                    : "everything is sent between two steps, and needed before one begins");
  return out;
}

std::string text_of(const Comparison& comparison) {
  std::string text = "Gbit/s of a link for a compute utilisation of\n" + header("H") + "\n";
  for (const ComparisonRow& row : comparison.rows) {
    std::vector<std::string> cells;
    for (const auto& cell : row.cells)
      cells.push_back((cell == 0U ? "<=" : "") + grid_text(comparison.order.grid, cell));
    text += line_of(name_of(row.method), std::to_string(row.schedule.period_steps), cells);
  }
  return text + closely_text(comparison) + listed(assumptions_of(comparison));
}

std::string json_of(const Comparison& comparison) {
  const BandwidthGrid& grid = comparison.order.grid;
  Json rows = Json::array();
  Json curves = Json::array();
  for (const ComparisonRow& row : comparison.rows) {
    Json cells = Json::array();
    for (const auto& cell : row.cells) cells.push_back(cell_json(grid_text(grid, cell)));
    Json out = {{"method", name_of(row.method)}, {"model", comparison.order.workload.name}, {"gbit_s", cells}};
    if (row.closely) {
      out["at"] = {{"gbit_s", *comparison.order.gbit_s},
                   {"utilisation", row.closely->share},
                   {"period_steps", row.schedule.period_steps},
                   {"lost_s", row.closely->lost_s},
                   {"sent_bits", row.closely->sent_bits}};
    }
    rows.push_back(out);
    Json points = Json::array();
    for (std::size_t k = 0; k < row.curve.size(); ++k) points.push_back({gbit_s_at(grid, k), row.curve[k]});
    curves.push_back({{"method", name_of(row.method)}, {"gbit_s_and_utilisation", points}});
  }
  return Json{{"rows", rows}, {"curves", curves}, {"assumptions", assumptions_of(comparison)}}.dump() + "\n";
}

Chart chart_of(const std::vector<Comparison>& comparisons) {
  Chart chart{"Compute utilisation against bandwidth", "", {}};
  for (const Comparison& comparison : comparisons) {
    const BandwidthGrid& grid = comparison.order.grid;
    ChartPanel panel;
    panel.title = comparison.order.workload.name;
    panel.x = {"Gbit/s", grid.low_gbit_s, grid.high_gbit_s, AxisScale::kLogarithmic};
    panel.y = {"computing, % of the time", 0, 100, AxisScale::kLinear};
    for (const ComparisonRow& row : comparison.rows) {
      ChartCurve curve{std::string(name_of(row.method)), {}, false};
      for (std::size_t k = 0; k < row.curve.size(); ++k) {
        curve.points.push_back({gbit_s_at(grid, k), row.curve[k] * 100});
      }
      panel.curves.push_back(std::move(curve));
    }
    chart.panels.push_back(std::move(panel));
  }
  if (!comparisons.empty()) {
    const auto assumptions = assumptions_of(comparisons.front());
    chart.subtitle = assumptions[1] + "; " + assumptions.back();
  }
  return chart;
}

}  // namespace shoal
