// OneOf is the variant that it holds in everything but where its members are compiled.
#include "messages/values/one_of.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "messages/values/one_of_members.h"

namespace shoal::one_of_test {
namespace {

struct Word {
  std::string text;
  friend bool operator==(const Word&, const Word&) = default;
};
struct Shared {
  std::shared_ptr<int> number;
  friend bool operator==(const Shared&, const Shared&) = default;
};
using Sample = OneOf<int, Word, Shared>;

TEST(OneOf, HoldsWhatItWasGivenAndIsReadLikeAVariant) {
  EXPECT_EQ(std::get<int>(Sample()), 0);
  const Sample word = Word{"three"};
  EXPECT_EQ(word.index(), 1U);
  EXPECT_TRUE(std::holds_alternative<Word>(word));
  EXPECT_EQ(std::get_if<int>(&word), nullptr);
  EXPECT_EQ(std::get<Word>(word).text, "three");
  const auto size = [](const auto& value) { return sizeof(value); };
  EXPECT_EQ(std::visit(size, word), sizeof(Word));
}

TEST(OneOf, CopiesMovesAndComparesByContent) {
  const Sample one = Word{"a word that is too long to be kept in place"};
  Sample copy = one;
  EXPECT_TRUE(copy == one);
  const Sample moved = std::move(copy);
  EXPECT_TRUE(moved == one);
  EXPECT_FALSE(moved == Sample(Word{"another"}));
  EXPECT_FALSE(Sample(0) == Sample(Word{}));
  Sample assigned;
  assigned = one;
  EXPECT_TRUE(assigned == one);
  assigned = 7;
  EXPECT_EQ(std::get<int>(assigned), 7);
}

TEST(OneOf, DestroysWhatItHeld) {
  const auto number = std::make_shared<int>(4);
  {
    std::vector<Sample> many(3, Shared{number});
    many[0] = Word{"instead"};
    many.erase(many.begin() + 1);
    EXPECT_EQ(number.use_count(), 2);
  }
  EXPECT_EQ(number.use_count(), 1);
}

TEST(OneOf, IsMadeOfItsAlternativesOnly) {
  static_assert(std::is_convertible_v<Word, Sample>);
  static_assert(!std::is_convertible_v<double, Sample>, "a std::variant would take it for an int or refuse it");
  static_assert(!std::is_convertible_v<const char*, Sample>);
  static_assert(std::is_nothrow_move_constructible_v<Sample>, "vectors move them");
}

}  // namespace
}  // namespace shoal::one_of_test
