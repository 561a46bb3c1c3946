// Out to another library's layout and back in: the same weights, and a run that evaluates, samples and trains on.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "runtime/data/tokenizers/bpe_tokenizer.h"
#include "runtime/data/tokenizers/hugging_face_tokenizer.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/safetensors.h"
#include "tests/runtime/data/tokenizers/small_ranks.h"
#include "tests/support/process_scene.h"

namespace shoal::import_test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A trained run, exported to the folder `gpt2`.
void train_and_export(ProcessScene& scene, const Words& sets = {}) {
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {2, 1, 6, sets}, {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end({"export", scene.run().string(), "--to", (scene.folder() / "gpt2").string()}), 0);
}

// [model] is left to config.json.
Words import_to(const ProcessScene& scene, const std::string& name, const Words& words = {}) {
  Words arguments = {"import", (scene.folder() / "gpt2").string(), "--to", scene.run(name).string()};
  for (const std::string& set :
       {"data.corpus=" + scene.text().string(), std::string("batch.sequences=16"), std::string("batch.microbatch=2"),
        std::string("run.steps=4"), std::string("pipeline.replicas=1"), std::string("sync.reduction=exact"),
        std::string("eval.every=0"), std::string("checkpoint.every=0")}) {
    arguments.insert(arguments.end(), {"--set", set});
  }
  arguments.insert(arguments.end(), words.begin(), words.end());
  return arguments;
}

std::string weights_of(const fs::path& run, std::uint64_t step) {
  const auto checkpoint = Checkpoint::open(checkpoint_folder(run / "checkpoints", step));
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.failure().message;
  return checkpoint.ok() ? checkpoint->manifest().weights_sha256 : "";
}

std::string words_after(const std::string& text, const std::string& name) {
  const auto at = text.find("\n" + name + " ");
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

std::string loss_of(ProcessScene& scene, const std::string& name) {
  Program& eval = scene.start({"eval", scene.run(name).string()});
  EXPECT_EQ(eval.wait(kRunLimit), 0) << eval.err();
  return words_after(eval.out(), "loss");
}

// The tensors of a file, in one text.
std::string tensors_in(const fs::path& path) {
  const std::string file = read_all(path);
  const auto tensors = parse_safetensors(std::as_bytes(std::span(file)), path.string());
  EXPECT_TRUE(tensors.ok()) << tensors.failure().message;
  std::string text;
  for (const StoredTensor& tensor : *tensors) {
    text += tensor.name + "\n" + std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return text;
}

// Counts the names beside it that begin as its own.
int count_beside(const fs::path& run) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(run.parent_path())) {
    count += entry.path().filename().string().starts_with(run.filename().string()) ? 1 : 0;
  }
  return count;
}

TEST(Import, BringsBackWhatWasExported) {
  ProcessScene scene;
  train_and_export(scene);
  ASSERT_EQ(scene.run_to_end(import_to(scene, "imported")), 0);
  EXPECT_EQ(count_beside(scene.run("imported")), 1);
  EXPECT_EQ(weights_of(scene.run("imported"), 0), weights_of(scene.run(), 6));
  EXPECT_EQ(loss_of(scene, "imported"), loss_of(scene, "run"));
  EXPECT_NE(loss_of(scene, "run"), "");
  const fs::path again = scene.folder() / "again";
  ASSERT_EQ(scene.run_to_end({"export", scene.run("imported").string(), "--to", again.string()}), 0);
  EXPECT_EQ(tensors_in(again / "model.safetensors"), tensors_in(scene.folder() / "gpt2" / "model.safetensors"));
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"}) {
    EXPECT_EQ(read_all(again / name), read_all(scene.folder() / "gpt2" / name)) << name;
    EXPECT_NE(read_all(again / name), "") << name;
  }
  Program& sample = scene.start({"sample", scene.run("imported").string(), "--prompt", "fish", "--tokens", "9"});
  ASSERT_EQ(sample.wait(kRunLimit), 0) << sample.err();
  EXPECT_TRUE(sample.out().starts_with("fish"));
}

// As a published model comes: with a tokenizer.json of its own, and more rows than that has tokens.
TEST(Import, TakesTheTokenizerBesideItAndKeepsRowsBehindItsTokens) {
  ProcessScene scene;
  scene.set_environment({{"SHOAL_DATA", (scene.folder() / "kept").string()}});
  std::vector<std::string> tokens = every_byte();
  for (const char* token : {"he", " t", "in", "er", "an", " a"}) tokens.emplace_back(token);
  const std::string file = hugging_face_tokenizer(BpeTokenizer(tokens, ""), 32).tokenizer_json;
  const fs::path tokenizer = scene.folder() / "own.json";
  std::ofstream(tokenizer, std::ios::binary) << file;
  ASSERT_NO_FATAL_FAILURE(
      train_and_export(scene, {"data.tokenizer=" + tokenizer.string(), "model.extra_tokens=9", "model.kind=llama"}));
  EXPECT_EQ(read_all(scene.folder() / "gpt2" / "tokenizer.json"), file);
  ASSERT_EQ(scene.run_to_end(import_to(scene, "imported")), 0);
  EXPECT_EQ(weights_of(scene.run("imported"), 0), weights_of(scene.run(), 6));
  EXPECT_EQ(loss_of(scene, "imported"), loss_of(scene, "run"));
  const std::string config = read_all(scene.run("imported") / "config.toml");
  EXPECT_NE(config.find("extra_tokens = 9\n"), std::string::npos) << config;
  EXPECT_NE(config.find("/gpt2/tokenizer.json"), std::string::npos) << config;
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run("imported").string()}), 0);
  Program& sample = scene.start({"sample", scene.run("imported").string(), "--prompt", "he", "--tokens", "40"});
  ASSERT_EQ(sample.wait(kRunLimit), 0) << sample.err();
  Program& refused = scene.start(import_to(scene, "refused", {"--set", "data.tokenizer=gpt2"}));
  EXPECT_EQ(refused.wait(kRunLimit), 2) << "a tokenizer with more tokens than rows: " << refused.err();
}

// A shell's completion puts a slash behind a folder; and files beside it are not to be removed.
TEST(Import, MakesAnEmptyFolderTheRunAndLeavesItsNeighboursAlone) {
  ProcessScene scene;
  train_and_export(scene);
  fs::create_directories(scene.run("empty"));
  fs::create_directories(scene.run("empty.partial") / "mine");
  ASSERT_EQ(scene.run_to_end(import_to(scene, "empty/")), 0);
  EXPECT_TRUE(fs::exists(scene.run("empty") / "config.toml"));
  EXPECT_TRUE(fs::exists(scene.run("empty.partial") / "mine"));
  EXPECT_EQ(count_beside(scene.run("empty")), 2);
}

TEST(Import, NoticesOneFlippedBit) {
  ProcessScene scene;
  train_and_export(scene);
  const fs::path path = scene.folder() / "gpt2" / "model.safetensors";
  std::string file = read_all(path);
  file[file.size() / 2 / 4 * 4 + 3] ^= 0x01;  // a layer's weight is four times what it was, or a quarter
  std::ofstream(path, std::ios::binary) << file;
  ASSERT_EQ(scene.run_to_end(import_to(scene, "imported")), 0);
  EXPECT_NE(weights_of(scene.run("imported"), 0), weights_of(scene.run(), 6));
  EXPECT_NE(loss_of(scene, "imported"), loss_of(scene, "run"));
}

TEST(Import, TrainsOnFromTheImportedWeights) {
  ProcessScene scene;
  train_and_export(scene);
  ASSERT_EQ(scene.run_to_end(import_to(scene, "pipeline")), 0);
  ASSERT_EQ(scene.run_to_end(import_to(scene, "single", {"--set", "pipeline.stages=1"})), 0);
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run("pipeline").string()}), 0);
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run("single").string(), "--single"}), 0);
  const RunRecords records = scene.records("pipeline");
  ASSERT_EQ(records.steps.size(), 4U);
  EXPECT_LT(records.steps[0].loss, scene.records().steps[0].loss - 0.1) << "not from the beginning";
  EXPECT_EQ(records.losses(), scene.records("single").losses());
  EXPECT_EQ(records.weights(), scene.records("single").weights());
}

// The model is what it was: in another precision it is trained otherwise.
TEST(Import, LeavesThePrecisionToAPerson) {
  ProcessScene scene;
  train_and_export(scene);
  ASSERT_EQ(scene.run_to_end(import_to(scene, "bf16", {"--set", "model.precision=bf16"})), 0);
  EXPECT_EQ(weights_of(scene.run("bf16"), 0), weights_of(scene.run(), 6));
  EXPECT_NE(read_all(scene.run("bf16") / "config.toml").find("precision = \"bf16\""), std::string::npos);
}

// Each keeps something else of the inner optimiser in its checkpoints.
TEST(Import, TrainsOnInRoundsOfEveryKind) {
  ProcessScene scene;
  train_and_export(scene);
  for (const std::string inner : {"keep", "average", "reset"}) {
    ASSERT_EQ(
        scene.run_to_end(import_to(
            scene, inner, {"--set", "sync.mode=diloco", "--set", "sync.H=2", "--set", "sync.inner_state=" + inner})),
        0);
    ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run(inner).string()}), 0) << inner;
    EXPECT_EQ(scene.records(inner).steps.size(), 4U) << inner;
  }
}

// The status and the last words of an import that is refused; nothing is left of it.
void expect_refused(ProcessScene& scene, const Words& words, int status, const std::string& reason) {
  Program& program = scene.start(import_to(scene, "refused", words));
  EXPECT_EQ(program.wait(kRunLimit), status) << program.err();
  EXPECT_NE(program.err().find(reason), std::string::npos) << program.err();
  EXPECT_FALSE(fs::exists(scene.run("refused")));
  EXPECT_EQ(count_beside(scene.run("refused")), 0) << "nothing is left";
}

// Replaces one number of config.json.
void describe_as(const ProcessScene& scene, const std::string& key, int is, int becomes) {
  const fs::path path = scene.folder() / "gpt2" / "config.json";
  std::string text = read_all(path);
  const std::string before = '"' + key + "\": " + std::to_string(is);
  ASSERT_NE(text.find(before), std::string::npos) << text;
  text.replace(text.find(before), before.size(), '"' + key + "\": " + std::to_string(becomes));
  std::ofstream(path, std::ios::binary) << text;
}

TEST(Import, SaysWhatToDoAboutOtherNumbers) {
  ProcessScene scene;
  train_and_export(scene);
  describe_as(scene, "n_head", 2, 3);
  expect_refused(scene, {}, 3, "n_embd = 32 cannot be cut into n_head = 3");
  describe_as(scene, "n_head", 3, 2);
  describe_as(scene, "vocab_size", 256, 320);
  expect_refused(scene, {}, 2, "--set model.extra_tokens=64");
  describe_as(scene, "vocab_size", 320, 50304);
  expect_refused(scene, {}, 2, "--set data.tokenizer=gpt2");
  describe_as(scene, "vocab_size", 50304, 40000);
  expect_refused(scene, {}, 2, "Name the tokenizer of the model: --set data.tokenizer=FILE");
}

TEST(Import, SaysWhatCannotBeImported) {
  ProcessScene scene;
  expect_refused(scene, {}, 2, "config.json");
  train_and_export(scene);
  expect_refused(scene, {"--set", "model.layers=5"}, 2, "n_layer");
  expect_refused(scene, {"--set", "model.heads=4"}, 2, "n_head");
  expect_refused(scene, {"--set", "data.tokenizer=gpt2"}, 2, "vocab_size");
  expect_refused(scene, {"--set", "data.corpus=" + (scene.folder() / "absent").string()}, 3, "absent");
  const fs::path weights = scene.folder() / "gpt2" / "model.safetensors";
  const std::string file = read_all(weights);
  std::ofstream(weights, std::ios::binary) << file.substr(0, file.size() - 4);
  expect_refused(scene, {}, 3, "model.safetensors");
  fs::remove(weights);
  expect_refused(scene, {}, 3, "The weights must be in a file of that name");
  std::ofstream(scene.folder() / "gpt2" / "pytorch_model.bin") << "PK";
  expect_refused(scene, {}, 3, "save_pretrained(DIR)");
  std::ofstream(scene.folder() / "gpt2" / "model.safetensors.index.json") << "{}";
  expect_refused(scene, {}, 3, "index of safetensors files");
  Program& taken = scene.start(import_to(scene, "run"));
  EXPECT_EQ(taken.wait(kRunLimit), 2);
  EXPECT_NE(taken.err().find("not empty"), std::string::npos) << taken.err();
}

}  // namespace
}  // namespace shoal::import_test
