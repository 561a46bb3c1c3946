// A run on a machine that has not the memory for it ends, and says so; it is not started again for ever.
#include <gtest/gtest.h>

#include "tests/support/process_scene.h"

namespace shoal::memory_test {
namespace {

// Room for a worker that has nothing to do, and not for one microbatch of this model. The rest that is left at the end
// does not suffice to start a thread.
constexpr const char* kAddressSpaceKb = "640000";

// A worker rests for the window when it could not start a replica a few times.
SmallRun large_microbatches() {
  return {2,
          1,
          kEndless,
          {"model.width=256", "model.context=256", "batch.microbatch=16", "optim.clip_norm=1.0",
           "swarm.restart_window_s=5"}};
}

// Returns what was said at the terminal, and by the nodes in their logs.
std::string all_words(const ProcessScene& scene, const Program& program) {
  std::string words = program.err();
  for (const char* node : {"node1.log", "node2.log"}) words += read_all(scene.run() / "logs" / node);
  return words;
}

TEST(Memory, ThatIsNeverEnoughEndsTheRunAndIsNamed) {
  ProcessScene scene;
  ProgramStart start;
  start.arguments = {"/bin/sh", "-c", std::string("ulimit -v ") + kAddressSpaceKb + "; exec \"$0\" \"$@\"",
                     shoal_program()};
  const auto words = train(scene, "run", large_microbatches());
  start.arguments.insert(start.arguments.end(), words.begin(), words.end());
  Program& program = scene.start_program(start);
  EXPECT_EQ(program.wait(kRunLimit), 1) << program.err();
  for (const char* part : {"gives no more memory", "of stage ", " are allowed (ulimit -v)"}) {
    EXPECT_NE(program.err().find(part), std::string::npos) << part << ": " << program.err();
  }
  EXPECT_TRUE(scene.wait_until_all_gone(kRunLimit));
  EXPECT_EQ(all_words(scene, program).find("terminate called"), std::string::npos) << all_words(scene, program);

  Program& free = scene.start(train(scene, "free", large_microbatches()));
  EXPECT_TRUE(scene.wait_for_steps(1, "free")) << "without the limit it trains: " << free.err();
}

}  // namespace
}  // namespace shoal::memory_test
