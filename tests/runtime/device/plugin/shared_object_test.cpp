// Tests what is read of a library's headers, of whole files, of cut ones and of any bytes.
#include "runtime/device/plugin/shared_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/runtime/device/plugin/made_library.h"

namespace shoal::shared_object_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

InputFile file_of(const std::string& bytes) {
  return {bytes.size(), [bytes](std::uint64_t at, std::span<char> into) -> Result<std::size_t> {
            if (at >= bytes.size()) return std::size_t{0};
            const std::size_t count = std::min<std::size_t>(into.size(), bytes.size() - at);
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, into.begin());
            return count;
          }};
}

std::string refusal(const std::string& bytes) {
  const auto read = read_shared_object(file_of(bytes));
  if (read) return "";
  EXPECT_EQ(read.failure().error, Error::kInvalidData);
  return read.failure().message;
}

TEST(SharedObject, SaysWhatItNeedsAndWhereThatIsLookedFor) {
  const auto read = read_shared_object(file_of(bytes_of({{"liba.so", "libb.so.2"}, "/one:$ORIGIN/two", ""})));
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_THAT(read->needed, ElementsAre("liba.so", "libb.so.2"));
  EXPECT_THAT(read->rpath, ElementsAre("/one", "$ORIGIN/two"));
  EXPECT_THAT(read->runpath, IsEmpty());
  const auto other = read_shared_object(file_of(bytes_of({{}, "", "::/three:"})));
  EXPECT_THAT(other->runpath, ElementsAre("/three"));
  EXPECT_THAT(other->needed, IsEmpty());
  EXPECT_EQ(folder_from("$ORIGIN/a:${ORIGIN}", "/x$ORIGIN"), "/x$ORIGIN/a:/x$ORIGIN");
}

TEST(SharedObject, AFileThatIsCutAnywhereSaysSo) {
  const std::string whole = bytes_of({{"liba.so"}, "/one", ""});
  EXPECT_EQ(refusal(whole), "") << "control";
  EXPECT_EQ(refusal(whole + "more"), "") << "what lies behind it is nobody's";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("it has " + std::to_string(size) + " of at least "));
  }
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)),
            "it has " + std::to_string(whole.size() - 1) + " of at least " + std::to_string(whole.size()) + " bytes");
}

// Whatever a library says, so much is read of it at most.
TEST(SharedObject, ReadsNamesAndListsUpToTheirBounds) {
  const auto needed = [](const MadeLibrary& library) {
    const auto read = read_shared_object(file_of(bytes_of(library)));
    return read ? read->needed.size() : 0;
  };
  EXPECT_EQ(needed({{std::string(4095, 'a'), "b"}, "", ""}), 2U);
  EXPECT_EQ(needed({{std::string(4096, 'a'), "b"}, "", ""}), 1U);
  const std::size_t most = (1 << 20) / sizeof(Elf64_Dyn) - 2;  // beside the table of texts and the end
  EXPECT_EQ(needed({std::vector<std::string>(most, "a"), "", ""}), most);
  EXPECT_EQ(needed({std::vector<std::string>(most + 1, "a"), "", ""}), 0U);
}

TEST(SharedObject, WhatIsNoLibrarySaysSo) {
  EXPECT_EQ(refusal(std::string(4096, '\0')), "it does not begin as a library of this machine does");
  std::string other = bytes_of({});
  other[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(refusal(other), HasSubstr("does not begin"));
  std::string endless = bytes_of({});
  std::fill_n(endless.begin() + offsetof(Elf64_Ehdr, e_shoff), 8, '\xff');
  EXPECT_THAT(refusal(endless), HasSubstr("beyond any file's end"));
}

// Any bytes are read without harm, and nothing is read behind their end.
TEST(SharedObject, DamagedHeadersAreReadWithoutHarm) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string whole = bytes_of({{"liba.so", "libb.so"}, "/one", "/two"});
  int read_well = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto read = read_shared_object(file_of(bytes));
    read_well += read ? 1 : 0;
    if (!read) {
      EXPECT_EQ(read.failure().error, Error::kInvalidData);
    }
  }
  EXPECT_GT(read_well, 1000);
  EXPECT_LT(read_well, 19'000);
}

}  // namespace
}  // namespace shoal::shared_object_test
