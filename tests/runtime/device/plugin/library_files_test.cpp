// Tests which files the check comes to, from a library to those that it needs.
#include "runtime/device/plugin/library_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <elf.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/machine/scratch_folder.h"
#include "tests/runtime/device/plugin/made_library.h"

namespace shoal::library_files_test {
namespace {

using ::testing::HasSubstr;

class LibraryFiles : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (scratch_->path() / name).string(); }
  void write(const std::string& name, const MadeLibrary& library, std::size_t cut_off = 0) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::string bytes = bytes_of(library);
    bytes.resize(bytes.size() - cut_off);
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  // The damaged file's path below the folder; empty: there is none.
  std::string damaged(const std::string& library_path = "") const {
    const auto found = find_damaged_file(path("main.so"), library_path);
    if (!found) return "";
    EXPECT_THAT(found->why, HasSubstr("of at least"));
    return std::filesystem::relative(found->path, scratch_->path()).string();
  }

  Result<ScratchFolder> scratch_ = ScratchFolder::make(::testing::TempDir(), "shoal-library-files-");
};

TEST_F(LibraryFiles, TheLibraryItselfIsLookedAtFirst) {
  write("main.so", {{"liba.so"}, "$ORIGIN/lib", ""});
  write("lib/liba.so", {}, 10);
  EXPECT_EQ(damaged(), "lib/liba.so");
  write("main.so", {{"liba.so"}, "$ORIGIN/lib", ""}, 1);
  EXPECT_EQ(damaged(), "main.so");
  write("main.so", {{"liba.so"}, "$ORIGIN/lib", ""});
  write("lib/liba.so", {});
  EXPECT_EQ(damaged(), "") << "control";
}

// An RPATH counts for what the needed library needs, too; a RUNPATH for its own library alone.
TEST_F(LibraryFiles, WhatALibraryNeedsIsFoundAsTheLoaderFindsIt) {
  write("lib/libb.so", {}, 10);
  write("lib/liba.so", {{"libb.so", "main.so"}, "", ""});
  write("main.so", {{"liba.so"}, "/nowhere:$ORIGIN/lib", ""});
  EXPECT_EQ(damaged(), "lib/libb.so");
  write("main.so", {{"liba.so"}, "", "$ORIGIN/lib"});
  EXPECT_EQ(damaged(), "");
  EXPECT_EQ(damaged("/nowhere:" + path("lib")), "lib/libb.so");
  write("main.so", {{"liba.so"}, "/nowhere", "$ORIGIN/lib"});
  write("other/liba.so", {}, 10);
  EXPECT_EQ(damaged(path("other")), "other/liba.so") << "before the folders of a RUNPATH";
  write("main.so", {{"liba.so"}, "$ORIGIN/lib", ""});
  EXPECT_EQ(damaged(path("other")), "lib/libb.so") << "behind those of an RPATH";
}

// An RPATH beside a RUNPATH counts neither for the library itself nor for what it needs.
TEST_F(LibraryFiles, AnRpathBesideARunpathCountsForNobody) {
  write("lib/libb.so", {}, 10);
  write("other/liba.so", {{"libb.so"}, "", ""});
  write("main.so", {{"liba.so"}, "$ORIGIN/lib", ""});
  EXPECT_EQ(damaged(path("other")), "lib/libb.so") << "control";
  write("main.so", {{"liba.so"}, "$ORIGIN/lib", "$ORIGIN/other"});
  EXPECT_EQ(damaged(), "");
}

// The loader goes past a library of another kind of machine to the next folder.
TEST_F(LibraryFiles, ALibraryOfAnotherMachineIsNotTheOneThatIsMeant) {
  write("main.so", {{"liba.so"}, "", ""});
  for (const Elf64_Half kind : {Elf64_Half{EM_386}, Elf64_Half{EM_AARCH64}}) {
    MadeLibrary other;
    other.machine = kind;
    other.is_32_bit = kind == EM_386;
    write("old/liba.so", other, 10);
    EXPECT_EQ(damaged(path("old")), "") << kind;
    write("lib/liba.so", {}, 10);
    EXPECT_EQ(damaged(path("old") + ":" + path("lib")), "lib/liba.so") << kind;
    write("lib/liba.so", {});
    EXPECT_EQ(damaged(path("old") + ":" + path("lib")), "") << kind;
  }
  write("old/liba.so", {}, 10);
  EXPECT_EQ(damaged(path("old") + ":" + path("lib")), "old/liba.so") << "control";
}

// Each file is read once, by whatever path it is found: otherwise libraries that need each other are without end.
TEST_F(LibraryFiles, AFileThatIsFoundByManyPathsIsReadOnce) {
  const std::vector<std::string> names = {"liba.so", "libb.so", "libc.so"};
  write("main.so", {names, "$ORIGIN/.", ""});
  write("liba.so", {names, "$ORIGIN/.", ""});
  write("libb.so", {names, "$ORIGIN//", ""});
  write("libc.so", {names, "$ORIGIN/../" + scratch_->path().filename().string(), ""});
  EXPECT_EQ(damaged(), "");
}

TEST_F(LibraryFiles, WhatIsNotThereIsTheLoadersToRefuse) {
  EXPECT_EQ(damaged(), "");
  write("main.so", {{"liba.so", "/nowhere/libb.so"}, "$ORIGIN", ""});
  EXPECT_EQ(damaged(), "");
}

}  // namespace
}  // namespace shoal::library_files_test
