// `shoal doctor`: one finding per thing that training needs of this machine; for what is wrong, how to mend it.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "launch/commands/inspect/findings.h"
#include "launch/commands/inspect/inspect.h"
#include "launch/commands/inspect/versions.h"
#include "launch/open_files.h"
#include "launch/say.h"
#include "launch/start_run.h"
#include "runtime/base/machine/available_memory.h"
#include "runtime/base/machine/bf16_units.h"
#include "runtime/base/machine/gpu_driver.h"
#include "runtime/base/machine/scratch_folder.h"
#include "runtime/data/command.h"
#include "runtime/data/fetch.h"
#include "runtime/transport/control/join_trials.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr double kGigabyte = 1e9;
constexpr double kMemoryNeeded = 2 * kGigabyte;  // four small workers with LibTorch in each
constexpr double kDiskNeeded = 1 * kGigabyte;    // checkpoints, traces and logs of a small run
constexpr std::uint64_t kDescriptorsNeeded = 1024;

std::string verdict_text(Verdict verdict) {
  if (verdict == Verdict::kGood) return "good";
  if (verdict == Verdict::kUntried) return "untried";
  return verdict == Verdict::kDoubtful ? "doubtful" : "wrong";
}

std::string gigabytes(double bytes) { return compose(static_cast<long>(bytes / kGigabyte * 10) / 10.0, " GB"); }

// The value after "name :" in a file like /proc/cpuinfo; the first of several.
std::string field_of(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

Finding libraries() {
  std::string facts = "shoal " + program_version();
  for (const auto& [name, version] : library_versions()) facts += ", " + name + " " + version;
  return {"libraries", Verdict::kGood, facts, ""};
}

Finding worker() {
  const auto fingerprint = worker_fingerprint();
  if (fingerprint) return {"worker", Verdict::kGood, *fingerprint, ""};
  return {"worker", Verdict::kWrong, fingerprint.failure().message,
          "run launch/shoal, which builds it and unpacks LibTorch"};
}

// Measures what a worker of this machine would state at its join.
Finding speed() {
  const auto text = worker_speed();
  if (!text) return {"speed", Verdict::kUntried, text.failure().message, "see the finding about the worker"};
  return {"speed", Verdict::kGood, *text + " a thread, of a product of matrices", ""};
}

Finding processor() {
  const std::string flags = " " + field_of("/proc/cpuinfo", "flags") + " ";
  std::string facts =
      compose(field_of("/proc/cpuinfo", "model name"), ", ", std::thread::hardware_concurrency(), " threads");
  for (const char* flag : {"avx2", "fma", "avx512f", "avx512_bf16"})
    if (flags.find(" " + std::string(flag) + " ") != std::string::npos) facts += std::string(", ") + flag;
  if (flags.find(" avx2 ") != std::string::npos) return {"processor", Verdict::kGood, facts, ""};
  return {"processor", Verdict::kDoubtful, facts + ", no avx2", "training works, slowly; take a newer processor"};
}

Finding memory() {
  const auto available = static_cast<double>(available_memory().value_or(0));
  const std::string facts = gigabytes(available) + " available";
  if (available >= kMemoryNeeded) return {"memory", Verdict::kGood, facts, ""};
  return {"memory", Verdict::kDoubtful, facts,
          "a small run takes " + gigabytes(kMemoryNeeded) + "; end other programs"};
}

Finding disk() {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const auto space = fs::space(here, error);
  if (error) return {"disk", Verdict::kWrong, error.message(), "go to a folder that exists and may be read"};
  const std::string facts = compose(gigabytes(static_cast<double>(space.available)), " free in ", here.string());
  if (::access(here.c_str(), W_OK) != 0)
    return {"disk", Verdict::kWrong, facts + ", which may not be written", "go elsewhere, or give --out DIR"};
  if (static_cast<double>(space.available) >= kDiskNeeded) return {"disk", Verdict::kGood, facts, ""};
  return {"disk", Verdict::kDoubtful, facts, "make room, or give --out DIR on another disk"};
}

Finding loopback() {
  const auto listening = listen_on({"127.0.0.1", 0});
  if (!listening)
    return {"loopback", Verdict::kWrong, listening.failure().message, "bring the interface up: ip link set lo up"};
  const HostPort address{"127.0.0.1", local_port(listening->descriptor())};
  const auto dialled = dial(address, deadline_in(std::chrono::seconds(2)));
  if (dialled) return {"loopback", Verdict::kGood, "listens and connects on 127.0.0.1", ""};
  return {"loopback", Verdict::kWrong, dialled.failure().message, "a firewall drops local connections; let lo pass"};
}

Finding clock() {
  const auto now = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day day(now);
  const std::string facts = compose("it is ", static_cast<int>(day.year()), "-", static_cast<unsigned>(day.month()),
                                    "-", static_cast<unsigned>(day.day()), " UTC");
  const bool is_sane = day.year() >= std::chrono::year(2025) && day.year() < std::chrono::year(2100);
  if (is_sane) return {"clock", Verdict::kGood, facts, ""};
  return {"clock", Verdict::kWrong, facts, "set it (certificates of other machines are not valid then): timedatectl"};
}

Finding descriptors() {
  const std::uint64_t allowed = open_files_allowed();
  const std::string facts = compose(allowed, " open files allowed");
  if (allowed >= kDescriptorsNeeded) return {"open files", Verdict::kGood, facts, ""};
  return {"open files", Verdict::kDoubtful, facts, compose("ulimit -n ", kDescriptorsNeeded)};
}

// Returns true where files can be made: the folder exists, or the existing part of its path can hold it.
bool can_be_used(const fs::path& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder, error);
  while (there.has_relative_path() && !fs::exists(there, error)) there = there.parent_path();
  return fs::is_directory(there, error) && ::access(there.c_str(), W_OK | X_OK) == 0;
}

// A node that is started by hand keeps its certificates there.
Finding temporary() {
  const auto folder = temporary_folder();
  if (!folder) return {"temporary files", Verdict::kWrong, folder.failure().message, "set TMPDIR to a folder"};
  if (can_be_used(*folder)) return {"temporary files", Verdict::kGood, "in " + folder->string(), ""};
  return {"temporary files", Verdict::kWrong, folder->string() + " cannot be written", "set TMPDIR to another folder"};
}

Finding corpora() {
  const auto folder = corpora_folder();
  if (folder && !can_be_used(*folder)) {
    return {"corpora", Verdict::kWrong, folder->string() + " cannot be written", "set SHOAL_DATA to another folder"};
  }
  if (folder) return {"corpora", Verdict::kGood, "kept in " + folder->string(), ""};
  return {"corpora", Verdict::kWrong, folder.failure().message, "set HOME, or SHOAL_DATA to a folder"};
}

// data.tokenizer = "gpt2" needs its ranks once; they come through pip.
Finding ranks() {
  const auto folder = corpora_folder();
  std::error_code error;
  if (folder && fs::exists(*folder / "gpt2.tiktoken", error)) {
    return {"gpt2 ranks", Verdict::kGood, "kept in " + folder->string(), ""};
  }
  const auto pip = run_command({{"python3", "-m", "pip", "--version"}, "/", "/dev/null", "/dev/null", {}});
  if (pip && *pip == 0) return {"gpt2 ranks", Verdict::kGood, "not fetched yet; pip is there", ""};
  return {"gpt2 ranks", Verdict::kDoubtful, "not fetched yet, and pip is not there",
          "only data.tokenizer=gpt2 needs them: apt-get install python3-pip, or put gpt2.tiktoken there"};
}

// Judges the keys of the newest run here: nobody else may read them.
Finding certificates() {
  const auto run = newest_run(surroundings_here().folder);
  if (!run) return {"certificates", Verdict::kGood, "no run here yet", ""};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*run + "/certs", error)) {
    struct stat facts {};
    const bool is_open = ::stat(entry.path().c_str(), &facts) == 0 && (facts.st_mode & 077) != 0;
    if (!is_open) continue;
    return {"certificates", Verdict::kWrong, "others may read " + entry.path().string(),
            "chmod 600 " + entry.path().string() + " (and take its keys for known)"};
  }
  return {"certificates", Verdict::kGood, *run + "/certs is its owner's alone", ""};
}

// The addresses of nodes are told to enrolled nodes alone, and whether others reach a port is seen from theirs.
Finding ports_of_nodes() {
  return {"ports of nodes", Verdict::kUntried, "a run tells their addresses to its nodes alone",
          "start the node: it says within 5 s whether the run reaches it; `shoal status` says who does not reach whom"};
}

// Tries whether this machine could join a run as a node; nothing is tried after the first connection that fails.
std::vector<Finding> joining(const std::vector<JoinTrial>& trials) {
  std::vector<Finding> findings;
  if (trials.empty()) return findings;
  const auto from = local_address_towards(trials.front().address);
  if (!from) {
    return {{"way to the spawner", Verdict::kWrong, from.failure().message,
             "is the name right, and is this machine on a network that leads there? A numeric address needs no DNS"}};
  }
  for (const JoinTrial& trial : trials) {
    const Status status = attempt(trial);
    const std::string address = host_port_text(trial.address);
    if (status) {
      findings.push_back({trial.what, Verdict::kGood, address + " answers", ""});
      continue;
    }
    findings.push_back({trial.what, Verdict::kWrong, status.failure().message, remedy_of(trial)});
    return findings;
  }
  findings.push_back(ports_of_nodes());
  return findings;
}

void print_text(const std::vector<Finding>& findings) {
  for (const auto& finding : findings) {
    const std::string verdict = verdict_text(finding.verdict);
    print(verdict, std::string(10 - verdict.size(), ' '), finding.what, ": ", finding.facts, "\n");
    if (!finding.remedy.empty()) print(std::string(10, ' '), "-> ", finding.remedy, "\n");
  }
}

void print_json(const std::vector<Finding>& findings, const std::vector<FeatureUse>& uses) {
  nlohmann::ordered_json features;
  for (const auto& use : uses)
    features[use.name] = {{"usable", use.is_usable}, {"why_not", use.is_usable ? "" : use.why}};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& finding : findings)
    json.push_back({{"what", finding.what},
                    {"verdict", verdict_text(finding.verdict)},
                    {"facts", finding.facts},
                    {"remedy", finding.remedy}});
  print(nlohmann::ordered_json{{"findings", json}, {"features", features}}.dump(2), "\n");
}

}  // namespace

// Exit status 1 when something is wrong.
Result<int> run_doctor(const DoctorOptions& options) {
  const auto trials =
      options.join ? join_trials(*options.join) : Result<std::vector<JoinTrial>>(std::vector<JoinTrial>());
  if (!trials) return trials.failure();
  const auto features = worker_features();
  const DriverAnswers driver = ask_gpu_driver();
  const auto uses = feature_uses(features, usable_devices(driver), bf16_units());
  std::vector<Finding> findings = {libraries(), worker(), speed(), processor()};
  for (Finding& finding : device_findings(features, driver, uses)) findings.push_back(std::move(finding));
  for (Finding (*look)() : {memory, disk, loopback, clock, descriptors, temporary, corpora, ranks, certificates}) {
    findings.push_back(look());
  }
  for (Finding& finding : joining(*trials)) findings.push_back(std::move(finding));
  options.form == OutputForm::kJson ? print_json(findings, uses) : print_text(findings);
  const bool is_well = std::none_of(findings.begin(), findings.end(),
                                    [](const Finding& finding) { return finding.verdict == Verdict::kWrong; });
  return is_well ? 0 : 1;
}

}  // namespace shoal
