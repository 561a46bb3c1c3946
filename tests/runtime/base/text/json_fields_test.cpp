// Tests what is read of JSON that anybody may have written.
#include "runtime/base/text/json_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace shoal::json_fields_test {
namespace {

TEST(JsonFields, AreReadWhereTheyHaveTheirType) {
  const auto json = nlohmann::json::parse(R"({"name":"node1","step":7,"loss":1.5,"less":-1})");
  EXPECT_EQ(text_field(json, "name"), "node1");
  EXPECT_EQ(count_field(json, "step"), 7U);
  EXPECT_EQ(number_field(json, "loss"), 1.5);
  EXPECT_EQ(number_field(json, "step"), 7.0);
  EXPECT_EQ(text_field(json, "step"), std::nullopt);
  EXPECT_EQ(count_field(json, "loss"), std::nullopt);
  EXPECT_EQ(count_field(json, "less"), std::nullopt);
  EXPECT_EQ(number_field(json, "name"), std::nullopt);
  EXPECT_EQ(text_field(json, "absent"), std::nullopt);
}

TEST(JsonFields, AreNotThereInWhatIsNoObject) {
  for (const char* text : {"[1]", "7", "null", "\"name\"", "{\"name\""}) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    EXPECT_EQ(text_field(json, "name"), std::nullopt) << text;
    EXPECT_EQ(count_field(json, "name"), std::nullopt) << text;
    EXPECT_EQ(number_field(json, "name"), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace shoal::json_fields_test
