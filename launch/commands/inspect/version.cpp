// `shoal version`: what runs here, for people and for scripts.
#include <nlohmann/json.hpp>

#include "launch/commands/inspect/inspect.h"
#include "launch/commands/inspect/versions.h"
#include "launch/say.h"
#include "messages/cause.h"

namespace shoal {
namespace {

void print_json(const Result<std::string>& fingerprint) {
  nlohmann::ordered_json json{{"version", program_version()}, {"protocol_version", kProtocolVersion}};
  for (const Feature& feature : worker_features()) json["features"][feature.name] = feature.is_there;
  for (const auto& [name, version] : library_versions()) json["libraries"][name] = version;
  json["kernel_fingerprint"] = fingerprint ? nlohmann::ordered_json(*fingerprint) : nlohmann::ordered_json();
  print(json.dump(2), "\n");
}

void print_text(const Result<std::string>& fingerprint) {
  print("shoal ", program_version(), ", protocol ", kProtocolVersion, "\n");
  for (const Feature& feature : worker_features()) {
    print(feature.name, ": ", feature.is_there ? "yes" : "no, " + feature.why_not, "\n");
  }
  for (const auto& [name, version] : library_versions()) print(name, ": ", version, "\n");
  print("kernels: ", fingerprint ? *fingerprint : fingerprint.failure().message, "\n");
}

}  // namespace

Result<int> run_version(OutputForm form) {
  const auto fingerprint = worker_fingerprint();
  form == OutputForm::kJson ? print_json(fingerprint) : print_text(fingerprint);
  return 0;
}

}  // namespace shoal
