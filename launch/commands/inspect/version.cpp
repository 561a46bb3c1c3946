// `shoal version`: what runs here, for people and for scripts.
#include <nlohmann/json.hpp>

#include "launch/commands/inspect/inspect.h"
#include "launch/commands/inspect/versions.h"
#include "launch/say.h"
#include "messages/cause.h"

namespace shoal {
namespace {

// Features that a build may lack; this version is built without either.
const std::vector<std::pair<std::string, bool>>& features() {
  static const std::vector<std::pair<std::string, bool>> all = {{"cuda", false}, {"nccl", false}};
  return all;
}

void print_json(const Result<std::string>& fingerprint) {
  nlohmann::ordered_json json{{"version", program_version()}, {"protocol_version", kProtocolVersion}};
  for (const auto& [name, is_there] : features()) json["features"][name] = is_there;
  for (const auto& [name, version] : library_versions()) json["libraries"][name] = version;
  json["kernel_fingerprint"] = fingerprint ? nlohmann::ordered_json(*fingerprint) : nlohmann::ordered_json();
  print(json.dump(2), "\n");
}

void print_text(const Result<std::string>& fingerprint) {
  print("shoal ", program_version(), ", protocol ", kProtocolVersion, "\n");
  for (const auto& [name, is_there] : features()) print(name, ": ", is_there ? "yes" : "no", "\n");
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
