// Tests whose lines are shown: the right file, and of its lines those of the actor that was named.
#include "runtime/cluster/operate/log_names.h"

#include <gtest/gtest.h>

namespace shoal::log_names_test {
namespace {

const std::vector<std::string> kNodes = {"node1", "node2"};

void expect_place(const std::string& name, const std::vector<std::string>& files, const std::string& who) {
  const LogPlace place = log_place(name, kNodes);
  EXPECT_EQ(place.files, files) << name;
  EXPECT_EQ(place.who, who) << name;
}

TEST(LogNames, EveryNameHasAFile) {
  expect_place("supervisor", {"spawner"}, "supervisor");
  expect_place("sync_group/1", {"spawner"}, "sync_group/1");
  expect_place("router/node2", {"node2"}, "router");
  expect_place("router/spawner", {"spawner"}, "router");
  expect_place("node_agent/node2:1", {"node2"}, "node_agent");
  expect_place("stage/1/0", kNodes, "stage/1/0");
  expect_place("node2", {"node2"}, "");
  expect_place("node2:1", {"node2"}, "");
  expect_place("spawner", {"spawner"}, "");
  expect_place("storage", {"storage"}, "");
}

TEST(LogNames, AWorkerThatSendsItsLogHasAFileOfItsOwn) {
  const std::vector<std::string> nodes = {"node2", "node2-1"};
  EXPECT_EQ(log_place("node2:1", nodes).files, std::vector<std::string>{"node2-1"});
  EXPECT_EQ(log_place("router/node2:1", nodes).files, std::vector<std::string>{"node2-1"});
  EXPECT_EQ(log_place("router/node2", nodes).files, std::vector<std::string>{"node2"});
  EXPECT_EQ(log_place("node2:0", nodes).files, std::vector<std::string>{"node2"});
  EXPECT_TRUE(is_planned("node2:1", PipelineConfig{}, {"node2-1", "spawner"}));
  for (const char* nobody : {"node2:7", "node2:", "node2:x", "node2:01"}) {
    EXPECT_FALSE(is_planned(nobody, PipelineConfig{}, nodes)) << nobody;
    EXPECT_NE(log_place(nobody, nodes).files, std::vector<std::string>{"node2"}) << nobody;
  }
}

TEST(LogNames, KnowsWhoseLinesStandInAKeepersLog) {
  EXPECT_EQ(worker_in_log_of_keeper("node2:1", kNodes), "node2:1");
  EXPECT_EQ(worker_in_log_of_keeper("router/node2:1", kNodes), "node2:1");
  for (const char* name : {"node2", "node2:0", "node2:x", "node2:01", "router/node2", "stage/0/0", "metrics"}) {
    EXPECT_EQ(worker_in_log_of_keeper(name, kNodes), std::nullopt) << name;
  }
  EXPECT_EQ(worker_in_log_of_keeper("node2:1", {"node2", "node2-1"}), std::nullopt) << "it has its own";
}

TEST(LogNames, WhoWasToBeThereMayHaveWrittenNothing) {
  PipelineConfig pipeline;
  pipeline.stages = 3;
  pipeline.replicas = 2;
  const std::vector<std::string> files = {"node1", "node2", "spawner", "storage"};
  for (const char* name : {"stage/0/0", "stage/2/1", "sync_group/2", "metrics", "supervisor", "storage", "node2",
                           "node2:1", "tracer/spawner", "router/node1", "node_agent/node2:1"}) {
    EXPECT_TRUE(is_planned(name, pipeline, files)) << name;
  }
  for (const char* name :
       {"stage/9/9", "stage/3/0", "stage/0/2", "stage/0", "stage/0/0/0", "stage/-1/0", "stage/00/0", "stage/0/",
        "sync_group/3", "sync_group/0/0", "metrics/node1", "router/node7", "node7", "cook/node1", ""}) {
    EXPECT_FALSE(is_planned(name, pipeline, files)) << name;
  }
}

TEST(LogNames, LinesAreTheActorsOrSpeakOfIt) {
  const std::string own = "2026-01-01T00:00:00.000Z info stage/1/0: loads step 5";
  const std::string of_it = "2026-01-01T00:00:00.000Z info node_agent: starting stage/1/0 as incarnation 7";
  const std::string of_another = "2026-01-01T00:00:00.000Z info stage/1/01: loads step 5";
  EXPECT_TRUE(is_line_of(own, "stage/1/0"));
  EXPECT_TRUE(is_line_of(of_it, "stage/1/0"));
  EXPECT_FALSE(is_line_of(of_another, "stage/1/0"));
  EXPECT_FALSE(is_line_of(own, "router"));
  EXPECT_TRUE(is_line_of("a crash", ""));
  EXPECT_FALSE(is_line_of("rerouters", "router"));
}

// A stage that was on one node, then on another, then on the first again.
TEST(LogNames, LinesOfSeveralFilesAreInOrderOfTime) {
  const auto merged = in_order_of_time({{"node1",
                                         {"2026-01-01T00:00:01.000Z info stage/0/0: one", "  of more than a line",
                                          "2026-01-01T00:00:03.000Z info stage/0/0: three"}},
                                        {"node2", {"2026-01-01T00:00:02.000Z info stage/0/0: two"}},
                                        {"node3", {"without a time"}}});
  std::vector<std::string> texts;
  for (const LogLine& line : merged) texts.push_back(line.file + " " + line.text.substr(line.text.rfind(' ') + 1));
  EXPECT_EQ(texts, (std::vector<std::string>{"node3 time", "node1 one", "node1 line", "node2 two", "node1 three"}));
  EXPECT_TRUE(in_order_of_time({}).empty());
}

}  // namespace
}  // namespace shoal::log_names_test
