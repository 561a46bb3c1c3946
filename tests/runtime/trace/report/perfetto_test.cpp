// The exported file is what Perfetto takes: JSON, slices of a track nested or disjoint, arrows with two ends inside
// slices, times that are numbers.
#include "runtime/trace/report/perfetto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/trace/report/json_lines.h"
#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::perfetto_test {
namespace {

using nlohmann::json;

struct Slice {
  double begin = 0;
  double end = 0;
};
using Track = std::pair<int, int>;

struct Parsed {
  std::map<Track, std::vector<Slice>> slices;
  std::map<std::uint64_t, std::vector<json>> flows;
  std::map<std::string, int> phases;
  std::set<std::string> names;
};

Parsed parse(const std::string& text) {
  Parsed out;
  const json parsed = json::parse(text);
  for (const json& event : parsed.at("traceEvents")) {
    const std::string phase = event.at("ph");
    ++out.phases[phase];
    out.names.insert(event.at("name").get<std::string>());
    if (phase != "M") {
      EXPECT_TRUE(event.at("ts").is_number()) << event;
      EXPECT_GE(event.at("ts").get<double>(), 0) << event;
    }
    const double begin = phase == "M" ? 0 : event.at("ts").get<double>();
    if (phase == "X") {
      EXPECT_GE(event.at("dur").get<double>(), 0) << event;
      out.slices[{event.at("pid"), event.at("tid")}].push_back({begin, begin + event.at("dur").get<double>()});
    }
    if (phase == "s" || phase == "f") out.flows[event.at("id")].push_back(event);
  }
  return out;
}

// Each slice lies within the open one or begins after it.
std::size_t overlaps(const std::vector<Slice>& slices) {
  std::size_t count = 0;
  std::vector<double> open;
  for (const Slice& slice : slices) {
    while (!open.empty() && open.back() <= slice.begin + 1e-6) open.pop_back();
    if (!open.empty() && slice.end > open.back() + 1e-6) ++count;
    open.push_back(slice.end);
  }
  return count;
}

void expect_valid(const RunTrace& trace) {
  const Parsed parsed = parse(perfetto_json(trace));
  for (const auto& [track, slices] : parsed.slices) {
    EXPECT_TRUE(std::ranges::is_sorted(slices, {}, &Slice::begin)) << track.first << "/" << track.second;
    EXPECT_EQ(overlaps(slices), 0U) << track.first << "/" << track.second;
  }
  for (const auto& [id, ends] : parsed.flows) {
    ASSERT_EQ(ends.size(), 2U) << "flow " << id;
    EXPECT_EQ(ends[0].at("ph"), "s");
    EXPECT_EQ(ends[1].at("ph"), "f");
    EXPECT_LE(ends[0].at("ts").get<double>(), ends[1].at("ts").get<double>());
    for (const json& end : ends) {
      const double at = end.at("ts").get<double>();
      const auto& slices = parsed.slices.at({end.at("pid"), end.at("tid")});
      const auto holds = [at](const Slice& slice) { return slice.begin <= at + 1e-6 && at <= slice.end + 1e-6; };
      EXPECT_TRUE(std::ranges::any_of(slices, holds)) << "an arrow that ends in no slice: " << end;
    }
  }
}

TEST(Perfetto, AnUndisturbedRunIsValid) {
  const TraceBench bench({3, 4});
  expect_valid(bench.trace());
  const Parsed parsed = parse(perfetto_json(bench.trace()));
  EXPECT_EQ(parsed.flows.size(), 3U * 4 * 4 + 3 * 4 + 3U * 4 * 2) << "letters, manifests, and work to work";
  for (const char* const name : {"forward", "loss", "backward", "step 2", "preparing", "reducing", "voted",
                                 "send Forward", "receive Backward", "view AddReplica", "accumulated, stage 1"}) {
    EXPECT_TRUE(parsed.names.contains(name)) << name;
  }
}

TEST(Perfetto, TheTestSeesSlicesThatOverlap) {
  EXPECT_EQ(overlaps({{0, 10}, {2, 5}, {5, 10}, {10, 12}}), 0U);
  EXPECT_EQ(overlaps({{0, 10}, {2, 11}}), 1U);
}

TEST(Perfetto, ACutOffRunIsValid) {
  for (const std::int64_t at : {20, 47, 60, 83, 110}) {
    TraceBench bench({3, 4});
    bench.cut("node2", at * 1'000'000);
    bench.cut("node3", (at + 7) * 1'000'000);
    expect_valid(bench.trace());
  }
}

TEST(Perfetto, WhateverIsMissingItStaysValid) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    TraceBench bench({2, static_cast<std::uint32_t>(2 + random() % 5)});
    for (const std::string name : {"spawner", "node1", "node2", "node3", "node4"}) {
      auto& events = bench.life(name).events;
      std::erase_if(events, [&](const TraceEvent&) { return random() % 10 == 0; });
      for (TraceEvent& event : events) event.time_ns += static_cast<std::int64_t>(random() % 3);
    }
    expect_valid(bench.trace());
  }
}

TEST(JsonLines, EscapeWhatJsonForbids) {
  EXPECT_EQ(json_text("a\"b\\c\nd"), "\"a\\\"b\\\\c\\u000ad\"");
  EXPECT_EQ(json_text("\xC3\xA4"), "\"\xC3\xA4\"");
  EXPECT_EQ(json_text("\xC3"), "\"?\"") << "a character that was cut";
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  EXPECT_TRUE(json::accept(json_text(every)));
  std::string out;
  { JsonObject(out).microseconds("a", -1'234'567).microseconds("b", 5).number("c", 7); }
  EXPECT_EQ(out, R"({"a":-1234.567,"b":0.005,"c":7})");
}

}  // namespace
}  // namespace shoal::perfetto_test
