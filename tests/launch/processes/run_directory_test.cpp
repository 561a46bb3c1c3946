// A run directory whose making failed is taken by the next start.
#include "launch/processes/run_directory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/config_file.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::run_directory_test {
namespace {

namespace fs = std::filesystem;

// A disk without room for a byte.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = ::signal(SIGXFSZ, SIG_IGN);
};

TEST(PrepareRunDirectory, LeavesAFolderThatIsStillNewWhereNothingHasRoom) {
  const Scratch scratch;
  const RunDirectory run{scratch.path() / "run"};
  const auto config = load_config({});
  {
    const FullDisk full;
    const auto failed = prepare_run_directory(run, *config);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.failure().error, Error::kIo);
  }
  EXPECT_TRUE(fs::is_empty(run.root)) << "--out takes it";
  EXPECT_TRUE(prepare_run_directory(run, *config).ok());
}

TEST(PrepareRunDirectory, WhateverElseFailsLeavesARunThatAStartGoesOnWith) {
  const Scratch scratch;
  const RunDirectory run{scratch.path() / "run"};
  const auto config = load_config({});
  fs::create_directories(run.root);
  std::ofstream(run.root / "logs") << "no folder";
  ASSERT_FALSE(prepare_run_directory(run, *config).ok());
  EXPECT_TRUE(read_run_config(run.root.string()).ok());
  fs::remove(run.root / "logs");
  EXPECT_TRUE(prepare_run_directory(run, *config).ok());
}

TEST(PrepareRunDirectory, TakesAwayWhatAStartThatWasKilledLeftOfTheConfiguration) {
  const Scratch scratch;
  const RunDirectory run{scratch.path() / "run"};
  fs::create_directories(run.root);
  std::ofstream(run.config() + ".new.1.0") << "[run";
  std::ofstream(run.config() + ".new.old.1") << "a person's";
  ASSERT_TRUE(prepare_run_directory(run, *load_config({})).ok());
  EXPECT_FALSE(fs::exists(run.config() + ".new.1.0"));
  EXPECT_TRUE(fs::exists(run.config()));
  EXPECT_TRUE(fs::exists(run.config() + ".new.old.1"));
}

}  // namespace
}  // namespace shoal::run_directory_test
