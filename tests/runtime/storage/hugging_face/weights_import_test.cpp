// Importing what others saved: the inverse of the export, bit for bit, and what is said of files that are no GPT-2.
#include "runtime/storage/hugging_face/weights_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/storage/hugging_face/imported_image.h"
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

// The image of all weights.
TensorBlob image_of(const ImportedWeights& weights) {
  std::vector<std::string> names;
  for (const ImportedTensor& tensor : weights.tensors) names.push_back(tensor.name);
  ImportedImage image(weights, names, {});
  return image.read(0, image.byte_count()).value();
}

std::vector<float> values_of(const ImportedTensor& tensor) {
  std::vector<float> values;
  for (std::uint64_t i = 0; i < tensor.value_count(); ++i) values.push_back(tensor.value(i));
  return values;
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
  const TensorBlob again = image_of(*imported);
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
  EXPECT_FALSE(image_of(*imported) == weights);
}

TEST(WeightsImport, TakesNamesWithAndWithoutThePrefix) {
  const MadeTensors plain = weights_of_small_gpt();
  const TensorBlob one = image_of(plain);
  const TensorBlob other = image_of(prefixed(plain));
  const auto from_one = import_file(bytes_of(one), untied(), "");
  const auto from_other = import_file(bytes_of(other), untied(), "");
  ASSERT_TRUE(from_one.ok());
  ASSERT_TRUE(from_other.ok()) << from_other.failure().message;
  EXPECT_EQ(image_of(*from_one), image_of(*from_other));
}

TEST(WeightsImport, CopiesATiedHead) {
  MadeTensors made = weights_of_small_gpt();
  const MadeTensor wte = made["wte.weight"];
  made.erase("lm_head.weight");
  const TensorBlob image = image_of(prefixed(made));
  const auto imported = import_file(bytes_of(image), tied(), "");
  ASSERT_TRUE(imported.ok()) << imported.failure().message;
  EXPECT_EQ(imported->of("lm_head.weight").shape, wte.shape);
  EXPECT_EQ(values_of(imported->of("lm_head.weight")), wte.values);
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
  EXPECT_EQ(image_of(*imported), image_of(weights_of_small_gpt()));
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

// A file of 16-bit numbers, zeros but for ln_f.weight of a model of that width.
struct NarrowFile {
  NarrowFile(const std::string& dtype, std::span<const std::uint16_t> bits) {
    model.layers = 1;
    model.width = static_cast<int>(bits.size());
    Json header;
    std::uint64_t at = 0;
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
    file.assign(reinterpret_cast<const char*>(&length), 8);
    file += text + data;
  }
  [[nodiscard]] Result<ImportedWeights> imported() const {
    return import_file(std::as_bytes(std::span(file)), {model, false, {}});
  }

  ModelConfig model = small_gpt();
  std::string file;
};

std::vector<float> widened(const std::string& dtype, std::span<const std::uint16_t> bits) {
  const NarrowFile file(dtype, bits);
  const auto imported = file.imported();
  EXPECT_TRUE(imported.ok()) << imported.failure().message;
  return imported ? values_of(imported->of("ln_f.weight")) : std::vector<float>(bits.size());
}

TEST(WeightsImport, ReadsHalfPrecisionExactly) {
  const std::vector<std::uint16_t> halves = {0x0000, 0x8000, 0x3C00, 0xC000, 0x7BFF, 0x0001, 0x83FF, 0x0400, 0x3555};
  const std::vector<float> expected = {0.0F,     -0.0F,         1.0F,     -2.0F,      65504.0F,
                                       0x1p-24F, -0x1.ff8p-15F, 0x1p-14F, 0x1.554p-2F};
  const auto values = widened("F16", halves);
  EXPECT_EQ(values, expected);
  EXPECT_TRUE(std::signbit(values[1]));
  const std::vector<std::uint16_t> brains = {0x3F80, 0xC040, 0x0001, 0x7F7F};
  EXPECT_EQ(widened("BF16", brains), (std::vector<float>{1.0F, -3.0F, 0x1p-133F, 0x1.fep127F}));
}

// A run would train with them without a word, and lose every weight.
TEST(WeightsImport, RefusesValuesThatAreNotFinite) {
  using Limits = std::numeric_limits<float>;
  for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    MadeTensors made = weights_of_small_gpt();
    made["h.1.ln_2.bias"].values[3] = bad;
    EXPECT_THAT(refusal(image_of(prefixed(made)), untied()),
                HasSubstr("the tensor transformer.h.1.ln_2.bias has a value that is not finite at 3"));
  }
  const std::vector<std::pair<std::string, std::uint16_t>> narrow = {
      {"F16", 0x7C00}, {"F16", 0xFC00}, {"F16", 0x7E00}, {"BF16", 0x7F80}, {"BF16", 0xFF80}, {"BF16", 0x7FC1}};
  for (const auto& [dtype, bits] : narrow) {
    const std::vector<std::uint16_t> values = {0, 0, bits, 0};
    const auto refused = NarrowFile(dtype, values).imported();
    ASSERT_FALSE(refused.ok()) << dtype << bits;
    EXPECT_THAT(refused.failure().message, HasSubstr("ln_f.weight has a value that is not finite at 2"));
  }
  MadeTensors made = weights_of_small_gpt();
  made["h.0.attn.bias"] = {{1, 1, 3, 3}, std::vector<float>(9, -Limits::infinity())};
  EXPECT_TRUE(import_file(bytes_of(image_of(made)), untied()).ok()) << "a mask is left out";
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
  EXPECT_EQ(image_of(*imported), image_of(weights_of_small_gpt()));
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
