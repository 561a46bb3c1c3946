// Every key stands in every answer: what there is none of is null.
#include "launch/commands/inspect/answers.h"

#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/text/json_text.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/operate/machine_words.h"
#include "runtime/trace/metrics/device_figures.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Nine digits tell every two floats apart; a number that is too large for a person has two.
std::string digits(double value) {
  constexpr double kPlainBelow = 1e7;
  if (!(std::abs(value) < kPlainBelow)) return number_text(value, 0);
  std::ostringstream out;
  out << std::setprecision(9) << value;
  return std::move(out).str();
}

Json actor_json(const nlohmann::json& actor) {
  constexpr double kMsPerSecond = 1000;
  Json line;
  for (const char* key : {"name", "node", "incarnation", "state", "mailbox", "restarts", "last_message"}) {
    line[key] = actor.at(key);
  }
  const bool has_heard = !actor.at("last_message").get<std::string>().empty();
  line["last_message_s"] = has_heard ? Json(actor.at("last_message_ms").get<double>() / kMsPerSecond) : Json();
  return line;
}

// A spawner of an older version says nothing of it.
DeviceFigures figures_in(const nlohmann::json& machine) {
  const auto read = [&machine]<class T>(const char* key, std::optional<T>& figure) {
    const auto found = machine.find(key);
    if (found != machine.end() && !found->is_null()) figure = found->template get<T>();
  };
  DeviceFigures figures;
  read("utilisation", figures.utilisation);
  read("mfu", figures.mfu);
  read("used_bytes", figures.used_bytes);
  read("peak_bytes", figures.peak_bytes);
  return figures;
}

}  // namespace

Failure refusal_of_data(const std::string& data, const Failure& of_text, bool is_there) {
  const std::string_view what_it_may_be =
      is_there
          ? ""
          : " Name a text file, or token shards in llm.c's format: a .bin file, a folder of them, or a pattern as in "
            "\"fineweb_val_*.bin\".";
  return fail(of_text.error, compose("--data ", data, ": ", of_text.message, what_it_may_be));
}

std::string evaluation_text(std::uint64_t step, const Evaluation& evaluation) {
  return compose("step ", step, "\nwindows ", evaluation.windows, "\ntokens ", evaluation.token_count, "\nloss ",
                 digits(evaluation.loss), "\nperplexity ", digits(evaluation.perplexity), "\nbits_per_byte ",
                 digits(evaluation.bits_per_byte), '\n');
}

Status check_finite(std::uint64_t step, const Evaluation& evaluation) {
  if (std::isfinite(evaluation.loss)) return Done{};
  return fail(Error::kInvalidData,
              compose("the loss of the checkpoint after ", counted(step, "step"), " is not finite (", evaluation.loss,
                      "): its weights are of no use. Name another one with --step N."));
}

std::string evaluation_json(std::uint64_t step, const Evaluation& evaluation) {
  return json_text(Json{{"step", step},
                        {"windows", evaluation.windows},
                        {"tokens", evaluation.token_count},
                        {"loss", number(evaluation.loss)},
                        {"perplexity", number(evaluation.perplexity)},
                        {"bits_per_byte", number(evaluation.bits_per_byte)}}) +
         '\n';
}

std::string progress_text(const nlohmann::json& answer) {
  const auto count = [](const nlohmann::json& of, const char* key) { return of.at(key).get<std::uint64_t>(); };
  const auto begun = answer.find("begun");  // roll-backs on the branch that a person began have numbers of their own
  const std::string name =
      begun == answer.end() || begun->is_null()
          ? ""
          : compose(" (", begun->at("name").get<std::string>(), ", from step ", count(*begun, "from"), ")");
  return compose("step ", count(answer, "step"), " of ", count(answer, "steps"), ", branch ", count(answer, "branch"),
                 name, ", view ", count(answer, "view"));
}

std::string machine_text(const nlohmann::json& machine) {
  const auto stated = [&](const char* key, double unit) {
    const auto value = machine.value(key, nlohmann::json());
    return value.is_null() ? std::uint64_t{0} : static_cast<std::uint64_t>(std::llround(value.get<double>() * unit));
  };
  MachineOffer offer;
  offer.multiply_adds_s = stated("gflops_per_thread", 0.5e9);
  offer.forward_us = stated("forward_ms", 1e3);
  offer.memory_bytes = stated("memory_bytes", 1);
  offer.host_bytes = stated("host_bytes", 1);
  offer.up_bit_s = stated("up_mbit_s", 1e6);
  offer.down_bit_s = stated("down_mbit_s", 1e6);
  const std::string gives = offer_text(offer);
  const std::string uses = figures_text(figures_in(machine));
  return machine.at("device").get<std::string>() + (gives.empty() ? "" : ", " + gives) +
         (uses.empty() ? "" : "; " + uses);
}

std::string status_json_text(const nlohmann::json& answer) {
  Json out;
  for (const char* key : {"run", "summary", "step", "steps", "branch", "view"}) out[key] = answer.at(key);
  out["begun"] = answer.value("begun", nlohmann::json());
  out["rounds"] = answer.value("rounds", nlohmann::json());
  out["actors"] = Json::array();
  for (const auto& actor : answer.at("actors")) out["actors"].push_back(actor_json(actor));
  out["machines"] = answer.value("machines", nlohmann::json::array());
  return json_text(out) + '\n';
}

std::string actors_json_text(const nlohmann::json& answer) {
  const auto machines = answer.value("machines", nlohmann::json::array());
  Json out = Json::array();
  for (const auto& actor : answer.at("actors")) {
    Json line = actor_json(actor);
    line["machine"] = nullptr;
    for (const auto& machine : machines) {
      const bool is_its = actor.at("name") == "node_agent/" + machine.at("name").get<std::string>();
      if (is_its) line["machine"] = machine;
    }
    out.push_back(std::move(line));
  }
  return json_text(out) + '\n';
}

}  // namespace shoal
