// Shapes of saved weights, and how they differ from those of a configuration.
#include "runtime/storage/checkpoint_shapes.h"

#include <gtest/gtest.h>

#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/checkpoint_writer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/storage/shards.h"

namespace shoal::checkpoint_shapes_test {
namespace {

TEST(CheckpointShapes, AreThoseOfAllWeightsOfAllFiles) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path() / "checkpoints"));
  for (const std::uint32_t stage : {0U, 1U}) ASSERT_TRUE(writer.add(shard_of(10, stage, 2)).ok());
  const auto folder = checkpoint_folder(scratch.path() / "checkpoints", 10);
  const auto whole = Checkpoint::open(folder);
  ASSERT_TRUE(whole.ok());
  const TensorShapes shapes = weight_shapes_of(folder);
  std::vector<std::string> names;
  for (const auto& [name, shape] : shapes) {
    names.push_back(name);
    EXPECT_FALSE(shape.empty()) << name;
  }
  EXPECT_EQ(names, whole->weight_names());
  EXPECT_FALSE(names.empty());
  const std::string file = (folder / whole->manifest().files.begin()->first).string();
  ASSERT_TRUE(replace_file(file, "no header").ok());
  EXPECT_TRUE(weight_shapes_of(folder).empty());
  EXPECT_TRUE(weight_shapes_of(scratch.path() / "nowhere").empty());
}

TEST(CheckpointShapes, SayWhatDiffersFirst) {
  const TensorShapes saved = {{"a", {2, 3}}, {"b", {4}}};
  EXPECT_EQ(shape_difference(saved, saved), "");
  EXPECT_EQ(shape_difference(saved, {{"a", {2, 6}}, {"b", {5}}}), "a is [2, 3], not [2, 6]");
  EXPECT_EQ(shape_difference(saved, {{"a", {2, 3}}, {"b", {4}}, {"c", {1}}}), "c is not in it");
  EXPECT_EQ(shape_difference(saved, {{"a", {2, 3}}}), "b is in it");
}

}  // namespace
}  // namespace shoal::checkpoint_shapes_test
