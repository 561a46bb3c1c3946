// Files, programs and their end.
#include "tests/support/process_scene.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "tests/reference/synthetic_text.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkerName = "SCENE_OF_TEST";
constexpr std::size_t kTextBytes = 60'000;
constexpr std::size_t kLinesShown = 40;
constexpr Milliseconds kGoneLimit{20'000};
constexpr Milliseconds kStatusLimit{10'000};

std::string last_lines(const std::string& text, std::size_t count) {
  std::size_t at = text.size();
  for (std::size_t lines = 0; lines <= count; ++lines) {
    const auto before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (before == std::string::npos) return text;
    at = before;
  }
  return text.substr(at + 1);
}

void show(const std::string& title, const std::string& text) {
  std::cerr << "---- " << title << "\n" << last_lines(text, kLinesShown) << "\n";
}

std::vector<fs::path> runs_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / "config.toml", error)) found.push_back(entry.path());
  return found;
}

void show_files(const fs::path& run) {
  show((run / "spawner.json").string(), read_all(run / "spawner.json"));
  show((run / "metrics.jsonl").string(), last_lines(read_all(run / "metrics.jsonl"), 5));
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run / "logs", error))
    show(entry.path().string(), read_all(entry.path()));
}

}  // namespace

std::string shoal_program() { return SHOAL_BUILD_DIR "/bin/shoal"; }

ProcessScene::ProcessScene() {
  std::string path = (fs::temp_directory_path() / "shoal-scene.XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) std::abort();
  folder_ = path;
  marker_ = std::string(kMarkerName) + "=" + path;
  std::ofstream(text(), std::ios::binary) << synthetic_text(kTextBytes);
}

ProcessScene::~ProcessScene() {
  bool have_all_ended = true;
  for (auto& program : programs_) have_all_ended = program.wait(Milliseconds(0)).has_value() && have_all_ended;
  if (have_all_ended && !wait_until_all_gone(kGoneLimit)) ADD_FAILURE() << "left behind:\n" << describe(processes());
  if (testing::Test::HasFailure()) dump();
  kill_everything();
  programs_.clear();
  std::error_code ignored;
  if (std::getenv("KEEP_SCENES") != nullptr)
    std::cerr << "kept " << folder_ << "\n";
  else
    fs::remove_all(folder_, ignored);
}

Program& ProcessScene::start(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), shoal_program());
  return start_program({std::move(arguments), {}, {}, {}});
}

Program& ProcessScene::start_program(ProgramStart start) {
  if (start.folder.empty()) start.folder = folder_;
  if (start.output.empty()) start.output = folder_ / ("program-" + std::to_string(programs_.size() + 1));
  start.environment.emplace(kMarkerName, folder_.string());
  start.environment.emplace("NO_COLOR", "1");
  start.environment.insert(environment_.begin(), environment_.end());
  return programs_.emplace_back(std::move(start));
}

int ProcessScene::run_to_end(std::vector<std::string> arguments) {
  Program& program = start(std::move(arguments));
  if (const auto status = program.wait(kRunLimit)) return *status;
  ADD_FAILURE() << "hung: " << program.command_line();
  dump();
  program.signal(SIGKILL);
  program.wait(kGoneLimit);
  return -1;
}

std::vector<ProcessEntry> ProcessScene::processes() const { return processes_marked(marker_); }

bool ProcessScene::wait_until_all_gone(Milliseconds limit) const {
  return wait_until([this] { return processes().empty(); }, limit);
}

bool ProcessScene::wait_for_steps(std::size_t count, const std::string& name) const {
  return wait_until([&] { return records(name).steps.size() >= count; }, kRunLimit);
}

std::vector<std::string> ProcessScene::stop(Program& program, const std::string& name) const {
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(kRunLimit), 75) << program.err();
  const auto finals = records(name).finals;
  EXPECT_FALSE(finals.empty()) << program.err();
  return {"--steps", std::to_string(finals.empty() ? 1 : finals.back().steps)};
}

bool ProcessScene::stop_and_repeat_single(Program& program, const SmallRun& small) {
  std::vector<std::string> words = stop(program);
  words.emplace_back("--single");
  return !testing::Test::HasFailure() && run_to_end(train(*this, "single", small, words)) == 0;
}

std::optional<ProcessEntry> ProcessScene::worker_of(const std::string& node) const {
  const auto workers = named_like(named_like(processes(), "shoal-worker node"), "--name " + node + " ");
  return workers.size() == 1 ? std::optional(workers.front()) : std::nullopt;
}

fs::path ProcessScene::make_folder(const std::string& name) const {
  fs::create_directories(folder_ / name);
  return folder_ / name;
}

void ProcessScene::dump() {
  std::cerr << "==== processes\n" << describe(processes());
  for (const auto& program : programs_) {
    const auto status = program.status();
    show(program.command_line() + "-> " + (status ? std::to_string(*status) : "runs"), program.err());
    show("its stdout", program.out());
  }
  for (const auto& run : runs_in(folder_)) {
    show_files(run);
    if (!fs::exists(run / "spawner.json")) continue;
    Program status({{shoal_program(), "status", "--run", run.string()}, folder_, folder_ / "status", {}});
    status.wait(kStatusLimit);
    show("shoal status", status.out() + status.err());
  }
}

testing::AssertionResult ProcessScene::kill_before(std::size_t steps, pid_t victim, const std::string& name) const {
  if (::kill(victim, SIGKILL) != 0) return testing::AssertionFailure() << "process " << victim << " was gone before";
  const std::size_t recorded = records(name).steps.size();
  if (recorded < steps) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the kill came too late to matter: " << recorded << " steps were recorded";
}

void ProcessScene::kill_everything() const {
  const auto nothing_left = [this] {
    const auto left = processes();
    for (const auto& process : left) ::kill(process.pid, SIGKILL);
    return left.empty();
  };
  if (!wait_until(nothing_left, kGoneLimit)) std::cerr << "cannot kill:\n" << describe(processes());
}

std::vector<std::string> settings_of(const ProcessScene& scene, const SmallRun& small) {
  std::vector<std::string> settings = {
      "data.corpus=" + scene.text().string(),
      "run.steps=" + std::to_string(small.steps),
      "run.seed=7",
      "model.layers=4",
      "model.width=32",
      "model.heads=2",
      "model.context=32",
      "model.init_std=0.05",
      "batch.sequences=16",
      "batch.microbatch=2",
      "pipeline.stages=" + std::to_string(small.stages),
      "pipeline.replicas=" + std::to_string(small.replicas),
      "optim.lr=0.003",
      "optim.min_lr=0.0003",
      "optim.warmup_steps=5",
      "optim.clip_norm=0.5",
      "eval.every=0",
      "checkpoint.every=0",
  };
  settings.insert(settings.end(), small.sets.begin(), small.sets.end());
  std::vector<std::string> words;
  for (auto& setting : settings) words.insert(words.end(), {"--set", std::move(setting)});
  return words;
}

std::vector<std::string> train(const ProcessScene& scene, const std::string& name, const SmallRun& small,
                               const std::vector<std::string>& words) {
  std::vector<std::string> arguments = {"train", "--out", scene.run(name).string()};
  const auto settings = settings_of(scene, small);
  arguments.insert(arguments.end(), settings.begin(), settings.end());
  arguments.insert(arguments.end(), words.begin(), words.end());
  return arguments;
}

std::vector<std::string> wait_for_join_words(const Program& spawner) {
  constexpr Milliseconds kSoon{20'000};
  std::string line;
  const auto is_printed = [&] {
    const std::string text = spawner.out();
    const auto at = text.find("shoal node --join ");
    const auto end = at == std::string::npos ? at : text.find('\n', at);
    if (end != std::string::npos) line = text.substr(at, end - at);
    return !line.empty();
  };
  EXPECT_TRUE(wait_until(is_printed, kSoon)) << spawner.err();
  std::istringstream printed(line);
  std::vector<std::string> words;
  for (std::string word; printed >> word;) words.push_back(word);
  if (!words.empty()) words.erase(words.begin());
  return words;
}

}  // namespace shoal
