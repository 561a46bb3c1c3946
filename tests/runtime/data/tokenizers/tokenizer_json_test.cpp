// Tests which files are taken, what they mean, and that every key that is not known is refused by its name.
#include "runtime/data/tokenizers/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <utility>

#include "runtime/data/tokenizers/byte_level.h"
#include "runtime/data/tokenizers/hugging_face_tokenizer.h"
#include "tests/runtime/data/tokenizers/small_ranks.h"

namespace shoal::tokenizer_json_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Ids = std::vector<std::int32_t>;

// Every byte, and "ab", "bc", "abc" of which only the second can be merged.
Json small() {
  Json vocabulary = Json::object();
  for (const std::string& byte : every_byte()) vocabulary[printed(byte)] = vocabulary.size();
  for (const char* token : {"ab", "bc", "abc"}) vocabulary[token] = vocabulary.size();
  return {{"added_tokens", {{{"id", 259}, {"content", "<|endoftext|>"}, {"special", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"b c", "a bc"}}}}};
}

BpeTokenizer read(const Json& file) {
  auto model = parse_tokenizer_json(file.dump(), "t.json");
  EXPECT_TRUE(model.ok()) << model.failure().message;
  return {std::move(*model), "of a test"};
}

TEST(TokenizerJson, MergesListedPairsAlone) {
  Json file = small();
  EXPECT_THAT(read(file).encode("ab abc"), ElementsAre('a', 'b', ' ', 258)) << "no merge makes ab";
  file["model"]["merges"] = Json::array({Json::array({"a", "b"}), Json::array({"b", "c"})});
  EXPECT_THAT(read(file).encode("abc"), ElementsAre(256, 'c')) << "in their order";
  file["model"]["merges"] = Json::array();
  EXPECT_THAT(read(file).encode("abc"), ElementsAre('a', 'b', 'c'));
  file["model"]["ignore_merges"] = true;
  EXPECT_THAT(read(file).encode("abc"), ElementsAre(258)) << "a piece that is a token";
}

TEST(TokenizerJson, HasSpecialTokensAnywhere) {
  Json file = small();
  Json& vocabulary = file["model"]["vocab"];
  for (auto& [name, number] : vocabulary.items()) number = number.get<int>() + 1;
  vocabulary["<s>"] = 0;
  file["added_tokens"] = {{{"id", 0}, {"content", "<s>"}}, {{"id", 260}, {"content", "<|end_of_text|>"}}};
  const BpeTokenizer tokenizer = read(file);
  EXPECT_EQ(tokenizer.vocabulary_size(), 261);
  EXPECT_EQ(tokenizer.end_of_text(), 260);
  EXPECT_FALSE(tokenizer.is_of_texts(0));
  EXPECT_FALSE(tokenizer.is_of_texts(260));
  EXPECT_TRUE(tokenizer.is_of_texts(1));
  EXPECT_EQ(tokenizer.bytes_of(0), "<s>");
  EXPECT_EQ(tokenizer.encode("<s>").size(), 3U) << "no text is encoded as it";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("<s> abc")), "<s> abc");
}

TEST(TokenizerJson, TakesTheFirstNameThatEndsATextAndMayHaveNone) {
  Json file = small();
  file["added_tokens"].push_back({{"id", 260}, {"content", "<eos>"}});
  EXPECT_EQ(read(file).end_of_text(), 259);
  file["added_tokens"][0]["content"] = "<pad>";
  EXPECT_EQ(read(file).end_of_text(), 260);
  file["added_tokens"][1]["content"] = "<other>";
  EXPECT_FALSE(read(file).end_of_text());
  file["added_tokens"] = nullptr;
  EXPECT_EQ(read(file).vocabulary_size(), 259);
}

// A run's own export, whose merges are of tokens' numbers.
TEST(TokenizerJson, ReadsWhatIsExported) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 20; ++trial) {
    const BpeTokenizer ours(random_tokens(random, "ab 's3", 100), "");
    auto model = parse_tokenizer_json(hugging_face_tokenizer(ours, 64).tokenizer_json, "t.json");
    ASSERT_TRUE(model.ok()) << model.failure().message;
    const BpeTokenizer again(std::move(*model), "");
    EXPECT_EQ(again.vocabulary_size(), ours.vocabulary_size());
    EXPECT_EQ(again.end_of_text(), ours.end_of_text());
    std::string text;
    for (int i = 0; i < 300; ++i) text += "ab 's3"[random() % 6];
    EXPECT_EQ(again.encode(text), ours.encode(text)) << text;
  }
}

constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Json split(const std::string& expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}

Json sequence(const Json& first, bool uses_regex) {
  const Json last = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", uses_regex}};
  return {{"type", "Sequence"}, {"pretokenizers", {first, last}}};
}

TEST(TokenizerJson, KnowsTheExpressionsOfPublishedModels) {
  Json file = small();
  const std::string text = "a(b)\n 12345";
  EXPECT_EQ(read(file).encode(text).size(), text.size());
  const auto pieces = [&] { return parse_tokenizer_json(file.dump(), "t.json")->pieces; };
  EXPECT_EQ(pieces(), Pieces::kGpt2);
  file["pre_tokenizer"] = sequence(split(kQwen2), false);
  EXPECT_EQ(pieces(), Pieces::kQwen2);
  std::string llama3 = kQwen2;
  llama3.replace(llama3.find("|\\p{N}|"), 7, "|\\p{N}{1,3}|");
  file["pre_tokenizer"] = sequence(split(llama3), false);
  EXPECT_EQ(pieces(), Pieces::kLlama3);
  file["pre_tokenizer"] = sequence({{"type", "Digits"}, {"individual_digits", true}}, true);
  EXPECT_EQ(pieces(), Pieces::kGpt2Digits);
}

struct Wrong {
  const char* says;
  std::function<void(Json&)> make;
};

TEST(TokenizerJson, IsRefusedByTheNameOfWhatIsNotKnown) {
  const std::vector<Wrong> wrongs = {
      {"only NFC is known, and it is \"Lowercase\"",
       [](Json& file) {
         file["normalizer"] = {{"type", "Lowercase"}};
       }},
      {"\"pre_tokenizer\" is none of those", [](Json& file) { file["pre_tokenizer"] = nullptr; }},
      {"is none of those", [](Json& file) { file["pre_tokenizer"]["use_regex"] = false; }},
      {"is none of those", [](Json& file) { file["pre_tokenizer"] = sequence(split(kQwen2), true); }},
      {"is none of those", [](Json& file) { file["pre_tokenizer"] = sequence(split("\\p{L}+"), false); }},
      {"is none of those",
       [](Json& file) {
         file["pre_tokenizer"] = sequence({{"type", "Digits"}, {"individual_digits", false}}, true);
       }},
      {"add_prefix_space", [](Json& file) { file["pre_tokenizer"]["add_prefix_space"] = true; }},
      {"it has no \"model\"", [](Json& file) { file.erase("model"); }},
      {"of the type \"Unigram\"", [](Json& file) { file["model"]["type"] = "Unigram"; }},
      {"byte_fallback", [](Json& file) { file["model"]["byte_fallback"] = true; }},
      {"dropout", [](Json& file) { file["model"]["dropout"] = 0.1; }},
      {"end_of_word_suffix", [](Json& file) { file["model"]["end_of_word_suffix"] = "</w>"; }},
      {"has no \"vocab\"", [](Json& file) { file["model"]["vocab"] = 3; }},
      {"has no \"merges\"", [](Json& file) { file["model"].erase("merges"); }},
      {"\"added_tokens\" is no list", [](Json& file) { file["added_tokens"] = "x"; }},
      {"has no \"content\"", [](Json& file) { file["added_tokens"][0].erase("content"); }},
      {"the number of the token \"abc\"", [](Json& file) { file["model"]["vocab"]["abc"] = 1'000'000; }},
      {"the number of the token \"abc\"", [](Json& file) { file["model"]["vocab"]["abc"] = -1; }},
      {"the number 257 is there twice", [](Json& file) { file["model"]["vocab"]["abc"] = 257; }},
      {"no token has the number 258", [](Json& file) { file["model"]["vocab"]["abc"] = 260; }},
      {"the byte 97 is no token",
       [](Json& file) {
         file["model"]["vocab"].erase("a");
         file["model"]["vocab"]["aaa"] = 97;
       }},
      {"not of bytes in GPT-2's printable form", [](Json& file) { file["model"]["vocab"]["a b"] = 260; }},
      {"a merge names \"zz\", which is no token", [](Json& file) { file["model"]["merges"] = {"z z"}; }},
      {"and not two tokens", [](Json& file) { file["model"]["merges"] = {"abc"}; }},
      {"and not two tokens", [](Json& file) {
         file["model"]["merges"] = {{"a", "b", "c"}};
       }}};
  for (const Wrong& wrong : wrongs) {
    Json file = small();
    wrong.make(file);
    const auto model = parse_tokenizer_json(file.dump(), "t.json");
    ASSERT_FALSE(model.ok()) << wrong.says;
    EXPECT_EQ(model.failure().error, Error::kInvalidData);
    EXPECT_THAT(model.failure().message, HasSubstr(wrong.says));
    EXPECT_THAT(model.failure().message, HasSubstr("t.json"));
  }
  for (const char* text : {"", "{", "[]", "3"}) EXPECT_FALSE(parse_tokenizer_json(text, "t.json").ok()) << text;
}

// The library takes the place in the list where a pair stands last.
TEST(TokenizerJson, MergesAPairThatIsListedTwiceByItsLastPlace) {
  Json file = small();
  file["model"]["merges"] = {"a b", "b c"};
  EXPECT_THAT(read(file).encode("abc"), ElementsAre(256, 'c')) << "control";
  file["model"]["merges"] = {"a b", "b c", "a b"};
  EXPECT_THAT(read(file).encode("abc"), ElementsAre('a', 257));
}

// A text has it without meaning the token: the library would take it out of every text.
TEST(TokenizerJson, IsRefusedWhereWhiteSpaceIsAnAddedToken) {
  for (const char* blanks : {" ", "  ", "\t\n", "\u3000 "}) {
    Json file = small();
    file["added_tokens"].push_back({{"id", 260}, {"content", blanks}, {"special", false}});
    const auto model = parse_tokenizer_json(file.dump(), "t.json");
    ASSERT_FALSE(model.ok());
    EXPECT_THAT(model.failure().message, HasSubstr("\"added_tokens\" has white space"));
  }
  Json file = small();
  file["added_tokens"].push_back({{"id", 260}, {"content", " <x> "}, {"special", false}});
  EXPECT_EQ(read(file).vocabulary_size(), 261) << "control";
}

// Whatever stands where a word is expected: the sentence stays short, and nesting ends no process.
TEST(TokenizerJson, NamesWhatIsWrongInAShortSentence) {
  constexpr std::size_t kDepth = 1'000'000;
  const std::string nested = std::string(kDepth, '[') + std::string(kDepth, ']');
  const auto refusal = [](const std::string& text) { return parse_tokenizer_json(text, "t.json").failure().message; };
  EXPECT_THAT(refusal(R"({"normalizer":{"type":)" + nested + "}}"), HasSubstr("and it is an array"));
  Json file = small();
  file["model"]["merges"] = Json::array({"x"});
  std::string merges = file.dump();
  merges.replace(merges.find(R"(["x"])"), 5, "[" + nested + "]");
  EXPECT_THAT(refusal(merges), HasSubstr("a merge is an array, and not two tokens"));
  file = small();
  file["model"]["type"] = "\u00e9" + std::string(62, 'x');
  EXPECT_THAT(refusal(file.dump()), HasSubstr(std::string(62, 'x') + "\","));
  file["model"]["type"] = "\u00e9" + std::string(100'000, 'x');
  EXPECT_THAT(refusal(file.dump()), HasSubstr(std::string(62, 'x') + "\"..., and"));
  file["model"]["type"] = std::string(63, 'x') + "\u00e9";
  EXPECT_THAT(refusal(file.dump()), HasSubstr(std::string(63, 'x') + "\ufffd\"...")) << "cut within a character";
}

// Writing a token out for another library takes the square of its length.
TEST(TokenizerJson, HasTokensThatAreNoLongerThanRanks) {
  Json file = small();
  file["model"]["vocab"][std::string(4096, 'a')] = 260;
  EXPECT_EQ(read(file).vocabulary_size(), 261);
  file = small();
  file["model"]["vocab"][std::string(4097, 'a')] = 260;
  EXPECT_THAT(parse_tokenizer_json(file.dump(), "").failure().message, HasSubstr("the token 260 has more than 4096"));
}

TEST(TokenizerJson, OfTheSameTokensHaveOneDigest) {
  const auto digest = [](const Json& file, int indent) {
    return digest_of(*parse_tokenizer_json(file.dump(indent), "t.json"));
  };
  const std::string before = digest(small(), -1);
  EXPECT_EQ(digest(small(), 2), before) << "white space";
  Json file = small();
  file["post_processor"] = {{"type", "ByteLevel"}};
  EXPECT_EQ(digest(file, -1), before) << "what no text's tokens depend on";
  const std::vector<std::function<void(Json&)>> changes = {
      [](Json& changed) { changed["added_tokens"][0]["content"] = "<eos>"; },
      [](Json& changed) { changed["added_tokens"][0]["content"] = "<pad>"; },
      [](Json& changed) {
        changed["added_tokens"].push_back({{"id", 260}, {"content", "<pad>"}});
      },
      [](Json& changed) { changed["model"]["ignore_merges"] = true; },
      [](Json& changed) {
        changed["model"]["merges"] = {"a bc", "b c"};
      },
      [](Json& changed) { changed["model"]["merges"] = {"b c"}; },
      [](Json& changed) { changed["pre_tokenizer"] = sequence(split(kQwen2), false); },
      [](Json& changed) {
        changed["model"]["vocab"]["ab"] = 257;
        changed["model"]["vocab"]["bc"] = 256;
      }};
  std::set<std::string> seen = {before};
  for (const auto& change : changes) {
    file = small();
    change(file);
    EXPECT_TRUE(seen.insert(digest(file, -1)).second) << file["added_tokens"] << file["model"]["merges"];
  }
}

TEST(TokenizerJson, IsKnownByItsName) {
  const auto name = [](const Json& file) { return name_of(*parse_tokenizer_json(file.dump(), "t.json")); };
  Json bytes = Json::parse(hugging_face_tokenizer(ByteTokenizer(), 32).tokenizer_json);
  EXPECT_EQ(name(bytes), "bytes");
  std::swap(bytes["model"]["vocab"]["a"], bytes["model"]["vocab"]["b"]);
  EXPECT_EQ(name(bytes), "");
  EXPECT_EQ(name(small()), "");
}

// The number that no token may have.
TEST(TokenizerJson, HasTokensBelowItsBound) {
  Json file = small();
  file["added_tokens"][0]["id"] = 999'999;
  EXPECT_THAT(parse_tokenizer_json(file.dump(), "").failure().message, HasSubstr("no token has the number 259"));
  file["added_tokens"][0]["id"] = 1'000'000;
  EXPECT_THAT(parse_tokenizer_json(file.dump(), "").failure().message, HasSubstr("is none below 1000000"));
}

}  // namespace
}  // namespace shoal::tokenizer_json_test
