// The HTTP reader in pieces of any size, at its limits, off its grammar, and under random changes.
#include "runtime/transport/control/http_message.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::http_message_test {
namespace {

using Progress = HttpReader::Progress;

TEST(HttpReader, ReadsARequestInPiecesOfAnySize) {
  const std::string text = request_text("POST", "/v1/kill?name=node2", "host:1", "{\"how\":\"exit\"}");
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    HttpReader reader;
    Progress progress = Progress::kMore;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      ASSERT_EQ(progress, Progress::kMore);
      progress = reader.feed(std::string_view(text).substr(at, piece));
    }
    ASSERT_EQ(progress, Progress::kComplete);
    EXPECT_EQ(reader.message().first, "POST");
    EXPECT_EQ(reader.message().second, "/v1/kill?name=node2");
    EXPECT_EQ(reader.message().body, "{\"how\":\"exit\"}");
  }
}

TEST(HttpReader, ReadsAResponse) {
  HttpReader reader;
  ASSERT_EQ(reader.feed(response_text(409, "{}", "Tue, 15 Nov 1994 08:12:31 GMT")), Progress::kComplete);
  EXPECT_EQ(reader.message().first, "HTTP/1.1");
  EXPECT_EQ(reader.message().second, "409");
  EXPECT_EQ(reader.message().headers.at("content-length"), "2");
}

TEST(HttpReader, RefusesWhatIsTooLarge) {
  HttpReader endless_head({.head_bytes_max = 100, .body_bytes_max = 10});
  EXPECT_EQ(endless_head.feed("GET / HTTP/1.1\r\nA: " + std::string(200, 'a')), Progress::kTooLarge);
  HttpReader large_body({.head_bytes_max = 100, .body_bytes_max = 10});
  EXPECT_EQ(large_body.feed("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n"), Progress::kTooLarge);
}

TEST(HttpReader, RefusesWhatIsNotOfItsGrammar) {
  for (const char* text :
       {"\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "GET / HTTP/1.1\r\n\r\nmore than it said"}) {
    HttpReader reader;
    EXPECT_EQ(reader.feed(text), Progress::kMalformed) << text;
  }
}

TEST(HttpReader, SurvivesRandomBytes) {
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  const std::string sound = request_text("POST", "/v1/enrol", "host", std::string(50, 'b'));
  for (int i = 0; i < 20000; ++i) {
    std::string text = sound;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random());
    HttpReader reader({.head_bytes_max = 200, .body_bytes_max = 100});
    const Progress progress = reader.feed(text);
    const std::size_t body = progress == Progress::kComplete ? reader.message().body.size() : 0;
    ASSERT_LE(body, 100u) << "seed " << seed;
  }
}

TEST(HttpTarget, IsSplitAndDecoded) {
  const auto target = parse_target("/v1/logs?name=stage%2F1%2F0&lines=5&empty=");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->path, "/v1/logs");
  EXPECT_EQ(target->query.at("name"), "stage/1/0");
  EXPECT_EQ(target->query.at("lines"), "5");
  EXPECT_EQ(target->query.at("empty"), "");
  EXPECT_FALSE(parse_target("/v1?x=%zz").has_value());
  EXPECT_FALSE(parse_target("/v1?x=%4").has_value());
}

TEST(HttpTarget, EveryValueSurvivesEscaping) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(parse_target("/p?v=" + escape_query(all))->query.at("v"), all);
}

}  // namespace
}  // namespace shoal::http_message_test
