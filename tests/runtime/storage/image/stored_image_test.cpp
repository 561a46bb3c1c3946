// Images read in pieces from verified files: the bytes that would be built of the same tensors in memory.
#include "runtime/storage/image/stored_image.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "runtime/base/sha256.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/storage/shards.h"

namespace shoal::stored_image_test {
namespace {

constexpr std::size_t kBlock = VerifiedFile::kBlockBytes;

// Tensors in memory, of 32-bit numbers that are all different.
class MadeTensors {
 public:
  MadeTensors& add(const std::string& name, std::size_t count) {
    auto& values = values_.emplace_back(count);
    std::iota(values.begin(), values.end(), next_);
    next_ += static_cast<std::int32_t>(count);
    tensors_.push_back({name,
                        DType::kInt32,
                        {static_cast<std::int64_t>(count)},
                        std::as_bytes(std::span<const std::int32_t>(values))});
    return *this;
  }
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const { return tensors_; }

 private:
  std::int32_t next_ = 0;
  std::vector<std::vector<std::int32_t>> values_;
  std::vector<StoredTensor> tensors_;
};

Result<std::vector<FiledTensor>> write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  const auto file = VerifiedFile::open(path, {sha256_hex(std::string_view(text)), text.size()});
  if (!file) return file.failure();
  return tensors_in(*file);
}

Result<std::vector<FiledTensor>> write_file(const std::filesystem::path& path, std::vector<StoredTensor> tensors) {
  return write_file(path, text_of(build_safetensors(std::move(tensors), {{"format", "pt"}})));
}

// These tensors in two files, every other one in each, and the image of them all.
std::vector<FiledTensor> in_two_files(const Scratch& scratch, const std::vector<StoredTensor>& tensors) {
  std::vector<StoredTensor> cut[2];
  for (std::size_t i = 0; i < tensors.size(); ++i) cut[i % 2].push_back(tensors[i]);
  std::vector<FiledTensor> all;
  for (const int i : {1, 0}) {
    const auto there = write_file(scratch.path() / std::to_string(i), cut[i]).value();
    all.insert(all.end(), there.begin(), there.end());
  }
  return all;
}

void expect_image(const std::vector<FiledTensor>& filed, const std::vector<StoredTensor>& tensors,
                  const std::vector<std::size_t>& sizes) {
  const std::string whole = text_of(build_safetensors(tensors));
  StoredImage image(filed);
  ASSERT_EQ(image.byte_count(), whole.size());
  for (const std::size_t size : sizes) {
    const auto read = read_in_pieces(image, size);
    ASSERT_TRUE(read.ok()) << read.failure().message;
    EXPECT_TRUE(*read == whole) << "in pieces of " << size;
  }
  EXPECT_EQ(image.read(whole.size(), 5)->byte_count(), 0U) << "there is no more";
  EXPECT_EQ(text_of(image.read(whole.size() - 3, 5).value()), whole.substr(whole.size() - 3));
}

TEST(StoredImage, HasTheBytesOfTheImageInMemoryWhateverThePieces) {
  const Scratch scratch;
  MadeTensors made;
  made.add("b", 3).add("a", 5).add("nothing", 0).add("c", 1).add("e", 4).add("d", 2);
  expect_image(write_file(scratch.path() / "file", made.tensors()).value(), made.tensors(), {1, 7, 64, 1000, 1 << 20});
  expect_image(in_two_files(scratch, made.tensors()), made.tensors(), {1, 7, 64, 1000});
}

TEST(StoredImage, IsReadOverTheBordersOfBlocks) {
  const Scratch scratch;
  MadeTensors made;
  made.add("a", kBlock / 4 + 3).add("b", 1).add("c", kBlock / 2).add("d", 100);
  const std::vector<std::size_t> sizes = {kBlock - 1, kBlock, kBlock + 13, kImagePieceBytes};
  expect_image(write_file(scratch.path() / "file", made.tensors()).value(), made.tensors(), sizes);
  expect_image(in_two_files(scratch, made.tensors()), made.tensors(), sizes);
}

TEST(StoredImage, HoldsSomeTensorsOfAFile) {
  const Scratch scratch;
  MadeTensors made;
  made.add("a", 3).add("b", 4).add("c", 5);
  auto filed = write_file(scratch.path() / "file", made.tensors()).value();
  filed.erase(filed.begin() + 1);
  expect_image(filed, {made.tensors()[0], made.tensors()[2]}, {7, 1000});
  expect_image(write_file(scratch.path() / "file", std::vector<StoredTensor>()).value(), {}, {7, 1000});
}

TEST(StoredImage, OfAFileWhoseHeaderIsLongerThanABlock) {
  const Scratch scratch;
  MadeTensors made;
  for (int i = 0; i < 300; ++i) made.add(std::string(4000, 'n') + std::to_string(i), 1);
  const NewLayout layout = [&made] {
    std::vector<PlacedTensor> places;
    for (const StoredTensor& tensor : made.tensors()) places.push_back({tensor.name, tensor.dtype, tensor.shape, 0, 0});
    return lay_out_safetensors(std::move(places));
  }();
  ASSERT_GT(layout.header.size(), kBlock) << "else it says nothing";
  expect_image(write_file(scratch.path() / "file", made.tensors()).value(), made.tensors(), {kBlock + 13});
}

TEST(StoredImage, OfAFileThatIsNoneIsRefusedByItsName) {
  const Scratch scratch;
  const auto path = scratch.path() / "file";
  MadeTensors made;
  const std::string good = text_of(build_safetensors(made.add("a", 3).tensors()));
  std::string too_long = good;
  too_long[7] = 1;
  std::string no_text = good;
  no_text[0] = no_text[1] = 0;
  for (const std::string& bad : {std::string(), std::string("short"), too_long, no_text, good + "x"}) {
    const auto refused = write_file(path, bad);
    ASSERT_FALSE(refused.ok()) << bad.size();
    EXPECT_EQ(refused.failure().error, Error::kInvalidData);
    EXPECT_TRUE(refused.failure().message.starts_with(path.string())) << refused.failure().message;
  }
  EXPECT_TRUE(write_file(path, good).ok()) << "the control";
}

TEST(StoredImage, GivesNothingOfAFileThatWasChangedSince) {
  const Scratch scratch;
  const auto path = scratch.path() / "file";
  MadeTensors made;
  made.add("a", kBlock / 4).add("b", 3);
  StoredImage image(write_file(path, made.tensors()).value());
  const std::string whole = read_in_pieces(image, kBlock).value();
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(-1, std::ios::end).put('!');
  EXPECT_TRUE(image.read(200, 1000).ok()) << "the control: another block";
  const auto refused = image.read(whole.size() - 8, 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  EXPECT_NE(refused.failure().message.find(path.string()), std::string::npos) << refused.failure().message;
}

}  // namespace
}  // namespace shoal::stored_image_test
