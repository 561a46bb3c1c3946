// The examples of FIPS 180-4, whole and in pieces.
#include "runtime/base/sha256.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <string>

namespace shoal::sha256_test {
namespace {

constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex("abc"), kOfAbc);
  EXPECT_EQ(sha256_hex(""), kOfNothing);
  EXPECT_NE(sha256_hex("abd"), kOfAbc);
}

TEST(Sha256, GivesTheSameDigestInPieces) {
  Sha256 digest;
  digest.update("a");
  digest.update("");
  digest.update("bc", 2);
  EXPECT_EQ(digest.hex(), kOfAbc);
}

TEST(Sha256, EndsOnce) {
  Sha256 digest;
  EXPECT_EQ(digest.hex(), kOfNothing);
  EXPECT_THROW((void)digest.hex(), Bug);
  EXPECT_THROW(digest.update("a"), Bug);
}

TEST(Sha256, HashesAFileAndNamesTheOneItCannotRead) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("sha256_test." + std::to_string(::getpid()));
  const std::string text(std::size_t{3} << 20U, 'x');
  std::ofstream(path, std::ios::binary) << text;
  const auto digest = sha256_file(path);
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(*digest, sha256_hex(text));
  std::filesystem::remove(path);
  const auto absent = sha256_file(path);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.failure().error, Error::kIo);
  EXPECT_NE(absent.failure().message.find(path.string()), std::string::npos);
}

}  // namespace
}  // namespace shoal::sha256_test
