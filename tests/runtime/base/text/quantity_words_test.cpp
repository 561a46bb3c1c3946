// Numbers as a person reads them.
#include "runtime/base/text/quantity_words.h"

#include <gtest/gtest.h>

#include <limits>

namespace shoal::quantity_words_test {
namespace {

TEST(QuantityWords, CountWithTheRightPlural) {
  EXPECT_EQ(counted(0, "stage"), "0 stages");
  EXPECT_EQ(counted(1, "stage"), "1 stage");
  EXPECT_EQ(counted(2, "stage"), "2 stages");
  EXPECT_EQ(counted(2, "process"), "2 processes");
  EXPECT_EQ(counted(1, "microbatch"), "1 microbatch");
  EXPECT_EQ(counted(2, "microbatch"), "2 microbatches");
  EXPECT_EQ(is_or_are(1), "is");
  EXPECT_EQ(is_or_are(2), "are");
}

TEST(QuantityWords, ANumberHasItsDecimalsUntilItIsHuge) {
  EXPECT_EQ(number_text(2.03414, 4), "2.0341");
  EXPECT_EQ(number_text(-2.5, 1), "-2.5");
  EXPECT_EQ(number_text(9'999'999.0, 1), "9999999.0");
  EXPECT_EQ(number_text(1e7, 4), "1.0e7");
  EXPECT_EQ(number_text(5.4871e28, 3), "5.5e28");
  EXPECT_EQ(number_text(-5.4871e28, 3), "-5.5e28");
  EXPECT_EQ(number_text(9.96e28, 3), "1.0e29") << "rounding carries over";
  EXPECT_EQ(number_text(std::numeric_limits<double>::max(), 3), "1.8e308");
}

TEST(QuantityWords, ANumberThatIsNoneSaysSo) {
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity(), 2), "inf");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity(), 2), "-inf");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN(), 2), "nan");
}

TEST(QuantityWords, BytesAreInUnitsOfAThousand) {
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(999), "999 bytes");
  EXPECT_EQ(size_text(152'400'000), "152.4 MB");
  EXPECT_EQ(size_text(16ULL << 30), "17.2 GB");
}

}  // namespace
}  // namespace shoal::quantity_words_test
