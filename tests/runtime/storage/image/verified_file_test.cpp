// A file that is verified once and read in pieces: only what was verified is ever given away.
#include "runtime/storage/image/verified_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <random>

#include "runtime/base/sha256.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::verified_file_test {
namespace {

constexpr std::size_t kBlock = VerifiedFile::kBlockBytes;

std::string some_text(std::size_t size) {
  std::mt19937_64 random(size);
  std::string text(size, '\0');
  for (char& one : text) one = static_cast<char>(random());
  return text;
}

CheckpointFile facts_of(const std::string& text) { return {sha256_hex(std::string_view(text)), text.size()}; }

// A file of some blocks, the last one not whole.
class SomeBlocks : public testing::Test {
 protected:
  [[nodiscard]] auto open() const { return VerifiedFile::open(path_, facts_of(text_)); }
  void put(std::size_t place, char one) const {
    std::fstream(path_, std::ios::binary | std::ios::in | std::ios::out)
        .seekp(static_cast<std::streamoff>(place))
        .put(one);
  }
  void flip(std::size_t place) const { put(place, static_cast<char>(text_[place] ^ 1)); }

  Scratch scratch_;
  std::string text_ = some_text(3 * kBlock + 77);
  std::filesystem::path path_ = scratch_.file("file", text_);
};

Result<std::string> read(const VerifiedFile& file, std::uint64_t offset, std::size_t size) {
  std::string text(size, '\0');
  auto read = file.read(offset, std::as_writable_bytes(std::span(text)));
  if (!read) return read.failure();
  return text;
}

void expect_invalid(const Result<std::string>& read, const std::filesystem::path& path) {
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.failure().error, Error::kInvalidData);
  EXPECT_NE(read.failure().message.find(path.string()), std::string::npos) << read.failure().message;
}

TEST_F(SomeBlocks, AreReadFromAnyPlaceToAnyOther) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  const auto file = open();
  ASSERT_TRUE(file.ok()) << file.failure().message;
  EXPECT_EQ((*file)->byte_count(), text_.size());
  for (int round = 0; round < 50; ++round) {
    const std::size_t offset = random() % (text_.size() + 1);
    const std::size_t size = random() % (text_.size() - offset + 1);
    EXPECT_TRUE(read(**file, offset, size).value() == text_.substr(offset, size)) << offset << ", " << size;
  }
  EXPECT_TRUE(read(**file, 0, text_.size()).value() == text_);
  EXPECT_TRUE(read(**file, kBlock, kBlock).value() == text_.substr(kBlock, kBlock));
  EXPECT_EQ(read(**file, text_.size(), 0).value(), "");
}

TEST_F(SomeBlocks, AreRefusedUnlessTheyAreWhatTheManifestSays) {
  for (const std::size_t place : {std::size_t{0}, kBlock, text_.size() - 1}) {
    flip(place);
    ASSERT_FALSE(open().ok()) << place;
    EXPECT_EQ(open().failure().error, Error::kInvalidData);
    EXPECT_NE(open().failure().message.find("was changed"), std::string::npos) << open().failure().message;
    put(place, text_[place]);
  }
  EXPECT_TRUE(open().ok());
  EXPECT_EQ(VerifiedFile::open(path_, facts_of(text_ + "x")).failure().error, Error::kInvalidData);
  EXPECT_EQ(VerifiedFile::open(scratch_.path() / "none", facts_of(text_)).failure().error, Error::kInvalidData);
  EXPECT_EQ(VerifiedFile::open(scratch_.path(), facts_of(text_)).failure().error, Error::kIo);
}

TEST_F(SomeBlocks, ThatChangeAfterwardsAreFoundWhenTheyAreRead) {
  const auto file = open();
  ASSERT_TRUE(file.ok());
  flip(kBlock + 5);
  expect_invalid(read(**file, kBlock + 5, 1), path_);
  expect_invalid(read(**file, kBlock + 900, 1), path_);
  expect_invalid(read(**file, kBlock, kBlock), path_);
  expect_invalid(read(**file, 3, text_.size() - 3), path_);
  EXPECT_TRUE(read(**file, 0, kBlock).ok()) << "another block";
  EXPECT_TRUE(read(**file, 2 * kBlock, kBlock + 77).ok());
  put(kBlock + 5, text_[kBlock + 5]);
  EXPECT_TRUE(read(**file, 0, text_.size()).ok());
}

TEST_F(SomeBlocks, ThatAreCutAfterwardsAreFoundWhenTheyAreRead) {
  const auto file = open();
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path_, text_.size() - 1);
  expect_invalid(read(**file, text_.size() - 5, 5), path_);
  expect_invalid(read(**file, text_.size() - 5, 2), path_);
  EXPECT_TRUE(read(**file, 0, 3 * kBlock).value() == text_.substr(0, 3 * kBlock));
}

TEST_F(SomeBlocks, AreReadAlsoWhenTheirNameIsGone) {
  const auto file = open();
  ASSERT_TRUE(file.ok());
  std::filesystem::remove(path_);
  EXPECT_TRUE(read(**file, 0, text_.size()).value() == text_);
  EXPECT_FALSE(open().ok()) << "the control";
}

TEST(VerifiedFile, TellsOfAReadThatTheSystemRefuses) {
  const std::string text = some_text(100);
  bool is_refused = false;
  const ReadAt read_at = [&](std::uint64_t at, std::span<char> into) -> Result<std::size_t> {
    if (is_refused) return fail(Error::kIo, "cannot read it now");
    return text.copy(into.data(), into.size(), at);
  };
  const auto file = VerifiedFile::verify("it", {text.size(), read_at}, facts_of(text));
  ASSERT_TRUE(file.ok()) << file.failure().message;
  EXPECT_EQ(read(**file, 10, 20).value(), text.substr(10, 20));
  is_refused = true;
  EXPECT_EQ(read(**file, 10, 20).failure().error, Error::kIo);
  EXPECT_EQ(VerifiedFile::verify("it", {text.size(), read_at}, facts_of(text)).failure().error, Error::kIo);
}

TEST(VerifiedFile, MayBeEmpty) {
  const Scratch scratch;
  const auto file = VerifiedFile::open(scratch.file("file", ""), facts_of(""));
  ASSERT_TRUE(file.ok()) << file.failure().message;
  EXPECT_EQ(read(**file, 0, 0).value(), "");
}

}  // namespace
}  // namespace shoal::verified_file_test
