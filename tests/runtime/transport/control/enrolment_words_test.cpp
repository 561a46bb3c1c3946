// The words of an enrolment: what a stranger sends and what a spawner answers are read as they were written, and a
// number that is none of the size which belongs there is refused.
#include <gtest/gtest.h>

#include <string>

#include "runtime/transport/control/enrolment.h"

namespace shoal::enrolment_words_test {
namespace {

constexpr const char* kNoNumbers[] = {"2e27", "1.5", "-1", "18446744073709551616", "\"7\"", "null"};

// The text with the value of this key replaced.
std::string with(std::string text, const std::string& key, const std::string& value) {
  const std::string name = '"' + key + "\":";
  const std::size_t at = text.find(name);
  EXPECT_NE(at, std::string::npos) << text;
  const std::size_t begin = at + name.size();
  return text.replace(begin, text.find_first_of(",}", begin) - begin, value);
}

TEST(EnrolmentWords, ARequestTakesWholeNumbersAlone) {
  EnrolmentRequest request;
  request.name = "node1";
  request.request = "PEM";
  request.protocol_version = 7;
  const std::string text = enrolment_request_text(request);
  ASSERT_TRUE(parse_enrolment_request(text).ok());
  EXPECT_EQ(parse_enrolment_request(with(text, "protocol_version", "4294967295"))->protocol_version, 4294967295U);
  EXPECT_FALSE(parse_enrolment_request(with(text, "protocol_version", "4294967296")).ok());
  for (const char* const value : kNoNumbers) {
    EXPECT_FALSE(parse_enrolment_request(with(text, "protocol_version", value)).ok()) << value;
  }
}

TEST(EnrolmentWords, AnAnswerTakesWholeNumbersAlone) {
  Rendezvous rendezvous;
  const std::string text = rendezvous_text(rendezvous);
  const auto read = parse_rendezvous(text);
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_NE(text.find("\"data_port\":0"), std::string::npos) << "version 7 reads it before it looks at the version";
  for (const char* const key : {"term", "protocol_version"}) {
    for (const char* const value : kNoNumbers) {
      EXPECT_FALSE(parse_rendezvous(with(text, key, value)).ok()) << key << " " << value;
    }
  }
  for (const char* const value : {"2e27", "1.5", "18446744073709551616"}) {
    EXPECT_FALSE(parse_rendezvous(with(text, "dead_after_ms", value)).ok()) << value;
    EXPECT_FALSE(parse_rendezvous(with(text, "version", value)).ok()) << value;
  }
}

}  // namespace
}  // namespace shoal::enrolment_words_test
