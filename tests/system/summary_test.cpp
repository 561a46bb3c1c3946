// The summary at the end of a run says what its lines and its trace say: bytes, times, tokens, goodput, faults. The
// sums are made again here, by a book of every line; a book that lacks a line disagrees.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/time/utc_time.h"
#include "runtime/trace/report/run_trace.h"
#include "runtime/trace/report/traced_journal.h"
#include "tests/support/process_scene.h"

namespace shoal::summary_test {
namespace {

using Json = nlohmann::json;

constexpr double kClockS = 0.01;      // moments are milliseconds, and a few are added up
constexpr double kFramesShare = 0.2;  // share of a letter of this small model that is beside its tensors
constexpr double kTimeShare = 0.05;
constexpr double kReportsS = 0.25;  // how late a line may be that waits for reports, on a machine that is busy

std::vector<Json> lines_of(const RunRecords& records) {
  std::vector<Json> lines;
  for (const std::string& line : records.lines) lines.push_back(Json::parse(line));
  return lines;
}

bool is_step(const Json& line) { return !line.contains("event"); }
bool is_event(const Json& line, const char* word) { return line.value("event", "") == word; }

double moment(const Json& line) {
  const auto at = parse_utc_ms(line.at("at").get<std::string>());
  EXPECT_TRUE(at) << line;
  return std::chrono::duration<double>(at.value_or(WallTime{}).time_since_epoch()).count();
}

std::ptrdiff_t starts_in(const std::vector<Json>& lines) {
  return std::ranges::count_if(lines, [](const Json& line) { return is_event(line, "started"); });
}

// Lines between "started" and the first training tell what the start before it left in the journal.
std::vector<bool> are_of_former(const std::vector<Json>& lines) {
  std::vector<bool> are;
  bool trains = true;
  for (const Json& line : lines) {
    if (is_event(line, "started")) trains = false;
    const bool is_taken_over = is_event(line, "resumed") && line.at("subject") == "spawner";
    const bool is_own_step = is_step(line) && line.at("filled") == false;
    if (is_event(line, "training") || is_taken_over || is_own_step) trains = true;
    const bool is_found = is_step(line) || is_event(line, "round") || is_event(line, "checkpoint");
    are.push_back(!trains && is_found);
  }
  return are;
}

// A book has what a summary should say of lines that end with it.
struct Book {
  std::map<std::string, std::uint64_t> bytes;
  std::map<std::uint64_t, std::uint64_t> tokens;  // by step, of those that the weights went through
  double seconds = 0;
  double steps_s = 0;
  double evaluation_s = 0;
  double at_ends_s = 0;  // after the last step of each start: evaluation and checkpoint
  double paused_s = 0;   // without a spawner
  std::uint64_t rounds = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t processes_lost = 0;

  void add_step(const Json& line) {
    for (const auto& [kind, count] : line.at("bytes").items()) {
      bytes[kind] += count.is_null() ? 0 : count.get<std::uint64_t>();
    }
    const auto step = line.at("step").get<std::uint64_t>();
    tokens.erase(tokens.lower_bound(step), tokens.end());
    tokens[step] = line.at("tokens").get<std::uint64_t>();
    steps_s += line.at("step_ms").get<double>() / 1000;
  }
};

// Sums the checkpoints that were sent after the last line of a start: no line of a step has their bytes, so that their
// events say them.
std::uint64_t sent_after_last_lines(const std::vector<Json>& lines) {
  std::uint64_t sum = 0, steps = 0, untold = 0;
  bool is_sent = false;  // one process sends none
  for (const Json& line : lines) {
    if (is_event(line, "started")) sum += std::exchange(untold, 0);
    if (is_step(line)) {
      steps = line.at("step").get<std::uint64_t>() + 1;
      is_sent = line.at("view") != 0;
      untold = 0;
    }
    if (is_event(line, "checkpoint") && is_sent && line.at("step").get<std::uint64_t>() >= steps) {
      untold = std::stoull(line.at("reason").get<std::string>());
    }
  }
  return sum + untold;
}

Book book_of(const std::vector<Json>& lines) {
  Book book;
  book.bytes["checkpoint"] += sent_after_last_lines(lines);
  const auto are_former = are_of_former(lines);
  const bool has_former = starts_in(lines) > 1;
  double before = 0, stepped = 0, evaluated = 0;
  double rest = 0;  // time of the start before, after its last step that was told
  for (const Json& line : lines) {
    const bool is_former = are_former[static_cast<std::size_t>(&line - lines.data())];
    const double now = moment(line);
    if (is_event(line, "started")) {
      rest = before > 0 ? before - stepped : 0;
      book.at_ends_s += rest;
      stepped = now;
    } else {
      book.seconds += now - before;
    }
    before = now;
    if (is_former && !has_former) continue;
    if (is_former && is_step(line)) {
      const double took = line.at("step_ms").get<double>() / 1000;
      book.seconds += std::max(0.0, took - rest);
      book.at_ends_s -= std::min(took, rest);
      rest -= std::min(took, rest);
    }
    if (is_event(line, "eval")) evaluated += line.at("eval_ms").get<double>() / 1000;
    if (is_event(line, "round") && line.at("subject").get<std::string>().starts_with("stage 0 ")) ++book.rounds;
    if (is_event(line, "checkpoint")) ++book.checkpoints;
    if (is_event(line, "process_lost")) ++book.processes_lost;
    if (&line == &lines.back()) book.at_ends_s += now - stepped;
    if (!is_step(line)) continue;
    book.add_step(line);
    const bool is_cut = line.at("tokens_per_s").is_null();
    if (is_cut) book.paused_s += std::max(0.0, now - stepped - line.at("step_ms").get<double>() / 1000);
    if (!is_former) stepped = now;
  }
  book.evaluation_s = evaluated;
  return book;
}

std::uint64_t sum_of(const std::map<std::uint64_t, std::uint64_t>& tokens) {
  std::uint64_t sum = 0;
  for (const auto& [step, count] : tokens) sum += count;
  return sum;
}

// Computes it of every line, as README.md of runtime/trace/metrics defines it.
double goodput_of(const std::vector<Json>& lines) {
  std::vector<double> rates;
  std::map<std::uint64_t, std::uint64_t> history;
  double wall = 0, evaluated = 0, calm_tokens = 0, calm_ms = 0;
  bool is_disturbed = false;
  const auto are_former = are_of_former(lines);
  const bool has_former = starts_in(lines) > 1;
  for (const Json& line : lines) {
    if (are_former[static_cast<std::size_t>(&line - lines.data())] && !has_former) continue;
    if (!is_step(line)) {
      const bool is_calm = is_event(line, "round") || is_event(line, "round_closed") || is_event(line, "started");
      is_disturbed = is_disturbed || !is_calm;
      evaluated = is_event(line, "started") || is_event(line, "resumed") ? 0 : evaluated + line.value("eval_ms", 0.0);
      continue;
    }
    const bool is_cut = line.at("tokens_per_s").is_null();
    const double tokens = line.at("tokens").get<double>();
    const double timed_ms = is_cut ? 0 : line.at("step_ms").get<double>();
    const double ms = std::max(0.0, timed_ms - std::exchange(evaluated, 0));
    wall += ms;
    history.erase(history.lower_bound(line.at("step").get<std::uint64_t>()), history.end());
    history[line.at("step").get<std::uint64_t>()] = is_cut ? 0 : line.at("tokens").get<std::uint64_t>();
    if (std::exchange(is_disturbed, false) || line.at("retried") != 0 || ms <= 0) continue;
    rates.push_back(tokens / ms);
    calm_tokens += tokens;
    calm_ms += ms;
  }
  if (rates.empty()) return std::nan("");
  std::ranges::sort(rates);
  const double rate = std::max(rates[rates.size() / 2], calm_tokens / calm_ms);
  return std::min(1.0, static_cast<double>(sum_of(history)) / (rate * wall));
}

double sum_of_parts(const Json& time) {
  double sum = 0;
  for (const auto& part : time) sum += part.get<double>();
  return sum;
}

// Returns why a summary is not that of these lines; empty: it is.
std::vector<std::string> differences(const Json& span, const std::vector<Json>& lines) {
  const Book book = book_of(lines);
  std::vector<std::string> found;
  const auto compare = [&found](const char* what, double told, double expected, double tolerance) {
    if (!(std::fabs(told - expected) <= tolerance)) found.push_back(compose(what, ": ", told, ", not ", expected));
  };
  for (const auto& [kind, count] : book.bytes) {
    compare(kind.c_str(), span.at("bytes").at(kind).get<double>(), static_cast<double>(count), 0);
  }
  compare("steps", span.at("steps").get<double>(), static_cast<double>(book.tokens.size()), 0);
  compare("tokens", span.at("tokens").get<double>(), static_cast<double>(sum_of(book.tokens)), 0);
  compare("rounds", span.at("rounds").get<double>(), static_cast<double>(book.rounds), 0);
  compare("checkpoints", span.at("checkpoints").at("count").get<double>(), static_cast<double>(book.checkpoints), 0);
  compare("processes", span.at("faults").at("processes").get<double>(), static_cast<double>(book.processes_lost), 0);
  compare("goodput", span.at("goodput").get<double>(), goodput_of(lines), 1e-6);
  compare("seconds", span.at("seconds").get<double>(), book.seconds, kClockS);
  const Json& time = span.at("time_s");
  compare("the sum of the parts", sum_of_parts(time), book.seconds, kClockS);
  compare("evaluation", time.at("evaluation").get<double>(), book.evaluation_s, kClockS);
  const double of_steps = sum_of_parts(time) - time.at("start").get<double>() - book.at_ends_s - book.paused_s;
  compare("the parts of steps", of_steps, book.steps_s, kTimeShare * book.steps_s + kReportsS);
  return found;
}

std::string text_of(const std::vector<std::string>& differences) {
  std::string text;
  for (const std::string& one : differences) text += one + "\n";
  return text;
}

// Lines before the summary; it stands last.
void expect_summary_of(std::vector<Json> lines, const char* span) {
  while (!lines.empty() && !is_event(lines.back(), "summary")) lines.pop_back();
  ASSERT_FALSE(lines.empty()) << "no summary";
  const Json summary = lines.back().at(span);
  EXPECT_EQ(text_of(differences(summary, lines)), "") << summary.dump(1);
  const auto are_former = are_of_former(lines);  // a summary of one start does not count those
  std::size_t step = 0;
  while (step < lines.size() && (are_former[step] || !is_step(lines[step]))) ++step;
  ASSERT_LT(step, lines.size());
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(step));
  EXPECT_GE(differences(summary, lines).size(), 3U) << "a step too few";
}

// Tensors in letters of this name that workers sent to other processes; "Forward evaluate" is one of "Forward".
double traced_bytes(const RunTrace& trace, std::string_view letter) {
  double bytes = 0;
  for (const TracedEvent& traced : trace.events) {
    const std::string_view words = traced.event.detail_text();
    const bool is_its = traced.event.kind == TraceKind::kSend && words.substr(0, words.find(' ')) == letter;
    if (is_its && trace.life_of(traced).name.starts_with("node")) bytes += static_cast<double>(traced.event.bytes);
  }
  return bytes;
}

void expect_bytes_of_the_trace(const Json& span, const RunTrace& trace) {
  const std::pair<const char*, const char*> kinds[] = {
      {"activation", "Forward"}, {"gradient", "Backward"}, {"reduce", "Part"}};
  for (const auto& [kind, letter] : kinds) {
    const double traced = traced_bytes(trace, letter);
    const double told = span.at("bytes").at(kind).get<double>();
    EXPECT_GT(traced, 0) << kind;
    EXPECT_NEAR(told, traced, kFramesShare * traced) << kind;
    EXPECT_GT(std::fabs(told - 2 * traced), kFramesShare * traced) << kind << ": the comparison can fail";
  }
}

// Compares the time from the first commit to the last, by the spawner's own clock.
void expect_time_of_the_trace(const std::vector<Json>& lines, const RunTrace& trace) {
  const TracedJournal journal(trace);
  const auto commits = journal.commits();
  ASSERT_GT(commits.size(), 10U);
  const double traced = static_cast<double>(commits.back()->time_ns - commits.front()->time_ns) / 1e9;
  const auto first = std::ranges::find_if(lines, is_step);
  const double of_lines = book_of(lines).steps_s - first->at("step_ms").get<double>() / 1000;
  EXPECT_NEAR(of_lines, traced, kTimeShare * traced + 0.05) << "by commits alone";
}

class Summary : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Summary, AddsUpToWhatLinesAndTraceSay) {
  ProcessScene scene;
  SmallRun small{2, 2, kEndless, {"trace.level=all", "eval.every=10", "checkpoint.every=20"}};
  small.sets.insert(small.sets.end(), GetParam().begin(), GetParam().end());
  Program& program = scene.start(train(scene, "run", small));
  ASSERT_TRUE(wait_until([&] { return scene.worker_of("node2").has_value(); }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(25));
  ASSERT_EQ(::kill(scene.worker_of("node2")->pid, SIGKILL), 0);
  const auto is_lost = [](const EventLine& line) { return line.event == "process_lost"; };
  ASSERT_TRUE(wait_until([&] { return std::ranges::any_of(scene.records().events, is_lost); }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 30));
  (void)scene.stop(program);
  EXPECT_NE(program.err().find("[summary] the run: "), std::string::npos) << program.err();
  EXPECT_NE(program.err().find("faults survived: 1 lost process"), std::string::npos) << program.err();

  const auto lines = lines_of(scene.records());
  expect_summary_of(lines, "run");
  expect_summary_of(lines, "life");
  const auto trace = read_run_trace(scene.run().string());
  ASSERT_TRUE(trace) << trace.failure().message;
  const Json summary = Json::parse(scene.records().summaries.back());
  EXPECT_EQ(summary.at("run").at("rounds") == 0, GetParam().empty());
  expect_bytes_of_the_trace(summary.at("run"), *trace);
  expect_time_of_the_trace(lines, *trace);

  const std::string target = std::to_string(scene.records().finals.back().steps + 20);
  Program& resumed = scene.start({"train", "--resume", scene.run().string(), "--steps", target});
  ASSERT_EQ(resumed.wait(kRunLimit), 0) << resumed.err();
  EXPECT_NE(resumed.err().find("[summary] this start: "), std::string::npos) << resumed.err();
  EXPECT_NE(resumed.err().find("[summary] the whole run, 2 starts: "), std::string::npos) << resumed.err();
  const auto whole = lines_of(scene.records());
  expect_summary_of(whole, "run");
  const auto start =
      std::find_if(whole.rbegin(), whole.rend(), [](const Json& line) { return is_event(line, "started"); });
  expect_summary_of(std::vector<Json>(start.base() - 1, whole.end()), "life");
}

// Returns the first line of that event from `from` on.
std::size_t place_of(const std::vector<Json>& lines, const char* word, const char* subject, std::size_t from = 0) {
  const auto is_it = [&](const Json& line) { return is_event(line, word) && line.at("subject") == subject; };
  return static_cast<std::size_t>(std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(from), lines.end(), is_it) -
                                  lines.begin());
}

std::size_t step_after(const std::vector<Json>& lines, std::size_t from) {
  const auto step = std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(from), lines.end(), is_step);
  return static_cast<std::size_t>(step - lines.begin());
}

// The keeper starts the spawner again; then all processes die, and a person goes on with what the journal has.
TEST_P(Summary, AddsUpAlsoAfterTheDeathOfTheSpawnerAndThatOfAll) {
  ProcessScene scene;
  SmallRun small{2, 2, kEndless, {"eval.every=10", "checkpoint.every=20"}};
  small.sets.insert(small.sets.end(), GetParam().begin(), GetParam().end());
  (void)scene.start(train(scene, "run", small));
  ASSERT_TRUE(scene.wait_for_steps(25));
  const Json found = Json::parse(read_file((scene.run() / "spawner.json").string()).value());
  ASSERT_EQ(::kill(found.at("pid").get<pid_t>(), SIGKILL), 0);
  const auto is_back = [&] {
    const auto lines = lines_of(scene.records());
    return place_of(lines, "resumed", "spawner") < lines.size();
  };
  ASSERT_TRUE(wait_until(is_back, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 20));
  const auto all_are_killed = [&] {
    for (const ProcessEntry& process : scene.processes()) ::kill(process.pid, SIGKILL);
    return scene.processes().empty();
  };
  ASSERT_TRUE(wait_until(all_are_killed, kRunLimit));
  const std::size_t died = scene.records().lines.size();
  const auto newest = Json::parse(scene.records().steps.back().text).at("step").get<std::uint64_t>();
  const std::string target = std::to_string(newest + 30);
  Program& resumed = scene.start({"train", "--resume", scene.run().string(), "--steps", target});
  ASSERT_EQ(resumed.wait(kRunLimit), 0) << resumed.err();

  const auto lines = lines_of(scene.records());
  const std::size_t cut = step_after(lines, place_of(lines, "resumed", "spawner"));
  EXPECT_TRUE(lines.at(cut).at("tokens_per_s").is_null()) << lines[cut];
  EXPECT_TRUE(lines.at(step_after(lines, cut + 1)).at("tokens_per_s").is_number());
  expect_summary_of(lines, "run");
  const std::size_t start = place_of(lines, "started", "run", died);
  const std::size_t training = place_of(lines, "training", "run", start);
  ASSERT_LT(training, lines.size());
  const std::vector<Json> life(lines.begin() + static_cast<std::ptrdiff_t>(start), lines.end());
  expect_summary_of(life, "life");
  const Json summary = Json::parse(scene.records().summaries.back()).at("life");
  const double began_s = moment(lines[training]) - moment(lines[start]);
  EXPECT_NEAR(summary.at("time_s").at("start").get<double>(), began_s, kReportsS) << "in no step's time";
}

const std::vector<std::vector<std::string>> kWays = {
    {}, {"sync.mode=diloco", "sync.H=5"}, {"sync.mode=diloco", "sync.H=5", "sync.outer_update=eager"}};

std::string way_name(const testing::TestParamInfo<std::vector<std::string>>& tested) {
  if (tested.param.empty()) return "EveryStep";
  return tested.param.back() == "sync.outer_update=eager" ? "Eager" : "Diloco";
}

INSTANTIATE_TEST_SUITE_P(Ways, Summary, testing::ValuesIn(kWays), way_name);

TEST(SummaryOfOneProcess, AddsUpToWhatItsLinesSay) {
  ProcessScene scene;
  const SmallRun small{1, 1, 60, {"eval.every=10", "checkpoint.every=10"}};
  Program& program = scene.start(train(scene, "run", small, {"--single"}));
  ASSERT_EQ(program.wait(kRunLimit), 0) << program.err();
  EXPECT_NE(program.err().find("[summary] the run: 60 steps"), std::string::npos) << program.err();
  const auto lines = lines_of(scene.records());
  expect_summary_of(lines, "run");
  const Json time = Json::parse(scene.records().summaries.back()).at("run").at("time_s");
  EXPECT_GT(time.at("checkpoint").get<double>(), 0);
  EXPECT_NEAR(time.at("stalled").get<double>(), 0, kClockS) << "nothing happened";
}

}  // namespace
}  // namespace shoal::summary_test
