// Importing what others saved: the inverse of the export, bit for bit, and what is said of files that are no GPT-2.
#include "runtime/storage/hugging_face/weights_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/storage/hugging_face/weights_export.h"
#include "tests/runtime/storage/hugging_face/small_gpt.h"

namespace shoal::weights_import_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

ModelDescription untied() { return {small_gpt(), false, {}}; }
ModelDescription tied() { return {small_gpt(), true, {}}; }

Result<ImportedWeights> import_file(std::span<const std::byte> bytes, const ModelDescription& description,
                                    const std::string& where = "") {
  return import_weights({{bytes, where}}, description, tensors_of_gpt(description.model), where);
}

std::string refusal(const TensorBlob& image, const ModelDescription& description) {
  const auto refused = import_file(bytes_of(image), description, "DIR/model.safetensors");
  EXPECT_FALSE(refused.ok());
  if (refused.ok()) return "";
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  EXPECT_THAT(refused.failure().message, HasSubstr("DIR/model.safetensors"));
  return refused.failure().message;
}

MadeTensors prefixed(const MadeTensors& made) {
  MadeTensors out;
  for (const auto& [name, tensor] : made) out[name == "lm_head.weight" ? name : "transformer." + name] = tensor;
  return out;
}

CheckpointManifest some_manifest() {
  CheckpointManifest manifest;
  manifest.run = "ab";
  return manifest;
}

TEST(WeightsImport, TakesBackWhatWasExported) {
  const TensorBlob weights = image_of(weights_of_small_gpt());
  const auto exported = export_model(some_manifest(), weights, small_gpt(), tensors_of_gpt(small_gpt()));
  ASSERT_TRUE(exported.ok()) << exported.failure().message;
  const auto description = parse_description(exported->config_json, "config.json");
  ASSERT_TRUE(description.ok()) << description.failure().message;
  EXPECT_FALSE(description->head_is_tied);
  const auto imported = import_file(bytes_of(exported->model), *description, "model.safetensors");
  ASSERT_TRUE(imported.ok()) << imported.failure().message;
  EXPECT_TRUE(imported->converted.empty()) << "float32 is not touched";
  const TensorBlob again = build_safetensors(imported->tensors);
  EXPECT_EQ(again, weights);
  const auto exported_again = export_model(some_manifest(), again, description->model, tensors_of_gpt(small_gpt()));
  ASSERT_TRUE(exported_again.ok());
  EXPECT_EQ(exported_again->model, exported->model);
  EXPECT_EQ(exported_again->config_json, exported->config_json);
}

TEST(WeightsImport, NoticesOneFlippedWeight) {
  const TensorBlob weights = image_of(weights_of_small_gpt());
  MadeTensors flipped = weights_of_small_gpt();
  flipped["h.1.mlp.c_fc.weight"].values[7] = -flipped["h.1.mlp.c_fc.weight"].values[7];
  const auto imported = import_file(bytes_of(image_of(flipped)), untied(), "");
  ASSERT_TRUE(imported.ok());
  EXPECT_FALSE(build_safetensors(imported->tensors) == weights);
}

TEST(WeightsImport, TakesNamesWithAndWithoutThePrefix) {
  const MadeTensors plain = weights_of_small_gpt();
  const TensorBlob one = image_of(plain);
  const TensorBlob other = image_of(prefixed(plain));
  const auto from_one = import_file(bytes_of(one), untied(), "");
  const auto from_other = import_file(bytes_of(other), untied(), "");
  ASSERT_TRUE(from_one.ok());
  ASSERT_TRUE(from_other.ok()) << from_other.failure().message;
  EXPECT_EQ(build_safetensors(from_one->tensors), build_safetensors(from_other->tensors));
}

TEST(WeightsImport, CopiesATiedHead) {
  MadeTensors made = weights_of_small_gpt();
  const MadeTensor wte = made["wte.weight"];
  made.erase("lm_head.weight");
  const TensorBlob image = image_of(prefixed(made));
  const auto imported = import_file(bytes_of(image), tied(), "");
  ASSERT_TRUE(imported.ok()) << imported.failure().message;
  const auto* head = find_tensor(imported->tensors, "lm_head.weight");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->shape, wte.shape);
  EXPECT_EQ(std::memcmp(head->bytes.data(), wte.values.data(), head->bytes.size()), 0);
  EXPECT_THAT(refusal(image, untied()), HasSubstr("no tensor lm_head.weight"));
  // Saved beside it, it must be the same.
  made["lm_head.weight"] = wte;
  EXPECT_TRUE(import_file(bytes_of(image_of(made)), tied(), "").ok());
  made["lm_head.weight"].values[3] += 1;
  EXPECT_THAT(refusal(image_of(made), tied()), HasSubstr("tie_word_embeddings"));
  EXPECT_TRUE(import_file(bytes_of(image_of(made)), untied(), "").ok());
}

TEST(WeightsImport, LeavesMasksOut) {
  MadeTensors made = weights_of_small_gpt();
  made["h.0.attn.bias"] = {{1, 1, 3, 3}, std::vector<float>(9)};
  made["transformer.h.1.attn.masked_bias"] = {{}, std::vector<float>(1)};
  const TensorBlob image = image_of(made);
  const auto imported = import_file(bytes_of(image), untied(), "");
  ASSERT_TRUE(imported.ok()) << imported.failure().message;
  EXPECT_EQ(build_safetensors(imported->tensors), image_of(weights_of_small_gpt()));
}

TEST(WeightsImport, NamesTheTensorThatIsWrong) {
  MadeTensors made = weights_of_small_gpt();
  made.erase("h.1.ln_2.bias");
  EXPECT_THAT(refusal(image_of(made), untied()), HasSubstr("no tensor h.1.ln_2.bias"));
  made = weights_of_small_gpt();
  made["h.2.ln_1.bias"] = made["h.1.ln_1.bias"];
  EXPECT_THAT(refusal(image_of(made), untied()), HasSubstr("h.2.ln_1.bias has no place"));
  made = weights_of_small_gpt();
  made["transformer.wte.weight"] = made["wte.weight"];
  EXPECT_THAT(refusal(image_of(made), untied()), HasSubstr("wte.weight is there twice"));
  made = weights_of_small_gpt();
  made["h.0.attn.c_attn.weight"].shape = {12, 4};
  EXPECT_THAT(refusal(image_of(made), untied()),
              AllOf(HasSubstr("h.0.attn.c_attn.weight is [12,4]"), HasSubstr("[4,12]"), HasSubstr("transposed")));
  ModelDescription longer = untied();
  longer.model.context = 8;
  EXPECT_THAT(refusal(image_of(weights_of_small_gpt()), longer), HasSubstr("wpe.weight is [3,4]"));
}

// The image with one tensor's type called otherwise; the header keeps its length.
TensorBlob retyped(std::string from, std::string to) {
  const TensorBlob image = image_of(weights_of_small_gpt());
  auto buffer = std::make_shared<AlignedBuffer>(image.byte_count());
  std::memcpy(buffer->data(), image.bytes->data(), image.byte_count());
  std::string text(reinterpret_cast<const char*>(buffer->data()), buffer->size());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  std::memcpy(buffer->data() + at, to.data(), to.size());
  return {image.dtype, image.shape, buffer};
}

TEST(WeightsImport, RefusesOtherTypes) {
  EXPECT_THAT(refusal(retyped(R"("F32")", R"("I32")"), untied()), HasSubstr("is I32; F32, F16 and BF16"));
  EXPECT_THAT(refusal(retyped(R"("F32")", R"("X32")"), untied()), HasSubstr("unsupported dtype"));
}

// One tensor of 16-bit numbers, and what it becomes: ln_f.weight of a model of that width.
std::vector<float> widened(const std::string& dtype, std::span<const std::uint16_t> bits) {
  const auto width = static_cast<std::int64_t>(bits.size());
  Json header;
  std::uint64_t at = 0;
  ModelConfig model = small_gpt();
  model.layers = 1;
  model.width = static_cast<int>(width);
  std::string data;
  for (const auto& [name, shape] : tensors_of_gpt(model).shapes) {
    std::uint64_t count = 1;
    for (const auto extent : shape) count *= static_cast<std::uint64_t>(extent);
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {at, at + 2 * count}}};
    at += 2 * count;
    std::string bytes(2 * count, '\0');
    if (name == "ln_f.weight") std::memcpy(bytes.data(), bits.data(), bytes.size());
    data += bytes;
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), 8);
  file += text + data;
  const auto imported = import_file(std::as_bytes(std::span(file)), {model, false, {}});
  EXPECT_TRUE(imported.ok()) << imported.failure().message;
  const auto* tensor = find_tensor(imported->tensors, "ln_f.weight");
  std::vector<float> values(bits.size());
  std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

TEST(WeightsImport, ReadsHalfPrecisionExactly) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::uint16_t> halves = {0x0000, 0x8000, 0x3C00, 0xC000, 0x7BFF, 0x0001,
                                             0x83FF, 0x0400, 0x7C00, 0xFC00, 0x3555, 0x7E00};
  const std::vector<float> expected = {0.0F,          -0.0F,    1.0F,      -2.0F,      65504.0F,   0x1p-24F,
                                       -0x1.ff8p-15F, 0x1p-14F, kInfinity, -kInfinity, 0x1.554p-2F};
  const auto values = widened("F16", halves);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(values[i], expected[i]) << i;
  EXPECT_TRUE(std::signbit(values[1]));
  EXPECT_TRUE(std::isnan(values.back()));
  const std::vector<std::uint16_t> brains = {0x3F80, 0xC040, 0x0001, 0x7F80};
  EXPECT_EQ(widened("BF16", brains), (std::vector<float>{1.0F, -3.0F, 0x1p-133F, kInfinity}));
}

// Every finite half, against arithmetic: sign x fraction x 2^exponent.
TEST(WeightsImport, ReadsEveryHalf) {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t bits = 0; bits < 0x10000; bits += 64) {  // every exponent; fractions by turns
    const auto half = static_cast<std::uint16_t>(bits + bits / 64 % 64);
    if ((half >> 10U & 31U) != 31U) halves.push_back(half);
  }
  const auto values = widened("F16", std::span(halves).first(512));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int exponent = halves[i] >> 10 & 31;
    const int fraction = (halves[i] & 1023) + (exponent == 0 ? 0 : 1024);
    const double magnitude = std::ldexp(fraction, (exponent == 0 ? 1 : exponent) - 25);
    ASSERT_EQ(values[i], static_cast<float>(halves[i] >> 15 != 0 ? -magnitude : magnitude)) << halves[i];
  }
}

// The weights of small_gpt() in two files.
std::array<TensorBlob, 2> in_two_files(const MadeTensors& made) {
  std::array<MadeTensors, 2> halves;
  std::size_t count = 0;
  for (const auto& [name, tensor] : made) halves[count++ % 2][name] = tensor;
  return {image_of(halves[0]), image_of(halves[1])};
}

TEST(WeightsImport, TakesSeveralFiles) {
  const auto files = in_two_files(weights_of_small_gpt());
  const ModelTensors tensors = tensors_of_gpt(small_gpt());
  const auto imported =
      import_weights({{bytes_of(files[0]), "one"}, {bytes_of(files[1]), "two"}}, untied(), tensors, "DIR");
  ASSERT_TRUE(imported.ok()) << imported.failure().message;
  EXPECT_EQ(build_safetensors(imported->tensors), image_of(weights_of_small_gpt()));
  const auto half = import_weights({{bytes_of(files[0]), "one"}}, untied(), tensors, "DIR");
  ASSERT_FALSE(half.ok());
  EXPECT_THAT(half.failure().message, HasSubstr("DIR: no tensor"));
  const auto twice =
      import_weights({{bytes_of(files[0]), "one"}, {bytes_of(files[0]), "again"}}, untied(), tensors, "DIR");
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.failure().message, AllOf(HasSubstr("again: the tensor"), HasSubstr("is there twice")));
}

TEST(WeightsImport, ReadsTheNamesOfFilesInAnIndex) {
  const Json index = {{"weight_map", {{"b", "two.safetensors"}, {"a", "one.safetensors"}, {"c", "two.safetensors"}}}};
  const auto files = files_of_index(index.dump(), "DIR/index");
  ASSERT_TRUE(files.ok()) << files.failure().message;
  EXPECT_EQ(*files, (std::vector<std::string>{"one.safetensors", "two.safetensors"}));
  for (const std::string text : {R"({"weight_map": {"a": "../one"}})", R"({"weight_map": {"a": ".."}})", R"({})", "{",
                                 R"({"weight_map": {"a": 3}})", R"({"weight_map": {}})", "[]"}) {
    const auto refused = files_of_index(text, "DIR/index");
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(refused.failure().message, HasSubstr("DIR/index"));
    EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  }
}

TEST(WeightsImport, SurvivesDamageAnywhere) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const TensorBlob image = image_of(weights_of_small_gpt());
  const std::string good(image.as<char>(), image.byte_count());
  for (int trial = 0; trial < 2000; ++trial) {
    std::string damaged = good;
    damaged[random() % std::min<std::size_t>(good.size(), 2500)] ^= static_cast<char>(1 + random() % 255);
    const auto imported = import_file(std::as_bytes(std::span(damaged)), untied(), "");
    EXPECT_TRUE(!imported.ok() || imported->tensors.size() == weights_of_small_gpt().size());
  }
}

}  // namespace
}  // namespace shoal::weights_import_test
