// A stage's state that leaves and comes in pieces: the very bytes of its image, whatever is computed meanwhile.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/device/state_image.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/support/bounds/knobs.h"

namespace shoal::state_pieces_test {
namespace {

constexpr std::uint32_t kMicrobatches = 6;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const TensorBlob& blob) { return {blob.as<std::byte>(), blob.as<std::byte>() + blob.byte_count()}; }

Bytes rest_of(const Bytes& image, std::uint64_t offset) {
  return {image.begin() + static_cast<std::ptrdiff_t>(offset), image.end()};
}

// From `offset` on, in pieces.
Bytes read_all(ImageSource& source, std::size_t size, std::uint64_t offset = 0) {
  Bytes all;
  while (offset < source.byte_count()) {
    const auto piece = source.read(offset, size);
    EXPECT_TRUE(piece.ok());
    const Bytes bytes = bytes_of(*piece);
    all.insert(all.end(), bytes.begin(), bytes.end());
    offset += bytes.size();
    source.release(offset);
  }
  return all;
}

Result<bool> load(StageExecutor& executor, const TensorBlob& image, std::uint64_t size) {
  const std::uint64_t total = image.byte_count();
  WholeImage source(image);
  Result<bool> is_whole = false;
  for (std::uint64_t offset = 0; offset < total && is_whole.ok(); offset += size) {
    is_whole = executor.load_piece({source.read(offset, size).value(), offset, total});
  }
  return is_whole;
}

TEST(StatePieces, AreTheImageWhateverTheirSize) {
  LocalPipeline pipeline(small_config(Reduction::kExact), 1);
  pipeline.train(0, in_order(kMicrobatches));
  StageExecutor& stage = pipeline.stage(0);
  const Bytes image = bytes_of(stage.state_image());
  for (const std::size_t size : {std::size_t{1009}, std::size_t{4096}, image.size(), 2 * image.size()}) {
    EXPECT_EQ(read_all(*stage.image_source(), size), image) << size;
  }
}

TEST(StatePieces, StayWhatTheyWereThoughTheStateGoesOn) {
  for (const std::uint64_t piece_kept : {1000, 16 << 20}) {
    Knobs knobs;
    knobs.set("storage.image_piece_bytes", piece_kept);
    LocalPipeline pipeline(small_config(Reduction::kExact), 1);
    StageExecutor& stage = pipeline.stage(0);
    const Bytes image = bytes_of(stage.state_image());
    const auto early = stage.image_source(), half = stage.image_source(), late = stage.image_source();
    const std::uint64_t middle = image.size() / 2 + 1;
    half->release(middle);
    pipeline.train(0, in_order(kMicrobatches));
    EXPECT_NE(bytes_of(stage.state_image()), image) << "the control";
    EXPECT_EQ(read_all(*early, 777), image);
    EXPECT_EQ(read_all(*half, 777, middle), rest_of(image, middle));
    pipeline.train(1, in_order(kMicrobatches));
    EXPECT_EQ(read_all(*late, 4001), image) << "whatever came after";
    const Bytes then = bytes_of(stage.state_image());
    const auto before_load = stage.image_source();
    LocalPipeline other(small_config(Reduction::kExact), 1);
    ASSERT_TRUE(stage.load_state(other.stage(0).state_image()).ok());
    EXPECT_EQ(read_all(*before_load, 5000), then);
  }
}

const StateImageBytes& bytes_behind(const std::shared_ptr<ImageSource>& source) {
  return dynamic_cast<const StateImageSource&>(*source).bytes();
}

// Beside a large state there is no room for a copy for each taker.
TEST(StatePieces, TakersOfOneVersionShareItsImage) {
  Knobs knobs;
  knobs.set("storage.image_piece_bytes", 1000);
  LocalPipeline pipeline(small_config(Reduction::kExact), 1);
  StageExecutor& stage = pipeline.stage(0);
  const Bytes image = bytes_of(stage.state_image());
  auto slow = stage.image_source(), fast = stage.image_source(), gone = stage.image_source();
  const StateImageBytes& shared = bytes_behind(slow);
  const std::uint64_t held = 2500;
  fast->release(2 * held);
  slow->release(held);
  gone.reset();
  EXPECT_EQ(shared.kept_bytes(), 0U) << "the state rests";
  pipeline.train(0, in_order(kMicrobatches));
  EXPECT_EQ(&bytes_behind(fast), &shared);
  EXPECT_EQ(shared.kept_bytes(), image.size() - held) << "once, from where the slowest is";
  const auto newer = stage.image_source();
  EXPECT_NE(&bytes_behind(newer), &shared) << "of another version";
  EXPECT_EQ(read_all(*fast, 777, 2 * held), rest_of(image, 2 * held));
  EXPECT_EQ(shared.kept_bytes(), image.size() - held) << "the slow one needs them";
  slow->release(held + 1000);
  EXPECT_EQ(shared.kept_bytes(), image.size() - held - 1000);
  EXPECT_EQ(read_all(*slow, 777, held + 1000), rest_of(image, held + 1000));
  EXPECT_EQ(shared.kept_bytes(), 0U);
}

TEST(StatePieces, AReaderThatEndsLeavesNothingBehindForIt) {
  LocalPipeline pipeline(small_config(Reduction::kExact), 1);
  auto slow = pipeline.stage(0).image_source();
  const auto done = pipeline.stage(0).image_source();
  pipeline.train(0, in_order(kMicrobatches));
  done->release(done->byte_count());
  EXPECT_EQ(bytes_behind(done).kept_bytes(), done->byte_count()) << "the control";
  slow.reset();
  EXPECT_EQ(bytes_behind(done).kept_bytes(), 0U);
}

TEST(StatePieces, LoadTheStateThatTheyAreOf) {
  const Config config = small_config(Reduction::kExact);
  LocalPipeline whole(config, 1);
  for (std::uint64_t step = 0; step < 3; ++step) whole.train(step, in_order(kMicrobatches));
  const TensorBlob image = whole.stage(0).state_image();
  for (const std::uint64_t size : {std::uint64_t{13}, std::uint64_t{1000}, std::uint64_t{image.byte_count()}}) {
    LocalPipeline resumed(config, 3);
    for (std::size_t stage = 0; stage < 3; ++stage) {
      const auto is_whole = load(resumed.stage(stage), image, size);
      ASSERT_TRUE(is_whole.ok());
      EXPECT_TRUE(is_whole.value());
    }
    EXPECT_EQ(whole.state(), resumed.state()) << size;
  }
}

TEST(StatePieces, OfAnotherModelAreRefusedBeforeAnythingIsWritten) {
  Config other = small_config(Reduction::kExact);
  other.model.width = 64;
  LocalPipeline pipeline(small_config(Reduction::kExact), 1);
  StageExecutor& stage = pipeline.stage(0);
  const std::uint64_t before = stage.state_digest();
  const auto refused = load(stage, LocalPipeline(other, 1).stage(0).state_image(), 1000);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  EXPECT_EQ(stage.state_digest(), before);
  const TensorBlob image = stage.state_image();
  EXPECT_FALSE(stage.load_piece({image, 0, image.byte_count() - 1}).ok()) << "more than there should be";
}

std::unique_ptr<StageExecutor> made_for_an_image(const Config& config) {
  auto made = make_stage_executor({config, StageId{0}, 1, "cpu", Answering::kAtOnce, BeginsWith::kImage});
  ENSURE(made.ok(), "an executor of the processor");
  return std::move(*made);
}

// Drawing the initial weights of a large stage takes as long as copying it.
TEST(StatePieces, FillAnExecutorThatWasMadeWithoutWeights) {
  for (const SyncMode mode : {SyncMode::kEveryStep, SyncMode::kDiloco}) {
    Config config = small_config(Reduction::kExact);
    config.sync.mode = mode;
    LocalPipeline whole(config, 1);
    whole.train(0, in_order(kMicrobatches));
    StageExecutor& donor = whole.stage(0);
    const TensorBlob image = donor.state_image();
    const auto by_pieces = made_for_an_image(config), at_once = made_for_an_image(config);
    EXPECT_TRUE(load(*by_pieces, image, 1000).value());
    EXPECT_TRUE(at_once->load_state(image).ok());
    EXPECT_EQ(by_pieces->state_digest(), donor.state_digest());
    EXPECT_EQ(bytes_of(by_pieces->state_image()), bytes_of(image));
    EXPECT_EQ(bytes_of(at_once->state_image()), bytes_of(image));
    EXPECT_NE(bytes_of(LocalPipeline(config, 1).stage(0).state_image()), bytes_of(image)) << "the control";
  }
}

// Zeros would train without a word.
TEST(StatePieces, NothingIsAskedOfAnExecutorBeforeTheImageThatItWasMadeFor) {
  const Config config = small_config(Reduction::kExact);
  const auto stage = made_for_an_image(config);
  const MicrobatchWork work = random_work(config, 0, 0);
  const auto expect_refusals = [&] {
    EXPECT_THROW(static_cast<void>(stage->state_digest()), Bug);
    EXPECT_THROW(static_cast<void>(stage->state_image()), Bug);
    EXPECT_THROW(static_cast<void>(stage->image_source()), Bug);
    EXPECT_THROW(static_cast<void>(stage->evaluate(work)), Bug);
    EXPECT_THROW(static_cast<void>(stage->forward_backward(work, WeightGradients::kAtOnce)), Bug);
  };
  expect_refusals();
  const TensorBlob image = LocalPipeline(config, 1).stage(0).state_image();
  Config other = config;
  other.model.width = 64;
  EXPECT_FALSE(load(*stage, LocalPipeline(other, 1).stage(0).state_image(), 1000).ok());
  expect_refusals();
  WholeImage source(image);
  EXPECT_FALSE(stage->load_piece({source.read(0, image.byte_count() - 1).value(), 0, image.byte_count()}).value());
  expect_refusals();
  EXPECT_TRUE(load(*stage, image, 1000).value());
  EXPECT_GT(stage->evaluate(work).loss_sum, 0);
}

TEST(StatePieces, OfRoundsHoldTheOuterState) {
  Config config = small_config(Reduction::kExact);
  config.sync.mode = SyncMode::kDiloco;
  config.sync.H = 2;
  LocalPipeline whole(config, 1);
  whole.train(0, in_order(kMicrobatches));
  StageExecutor& stage = whole.stage(0);
  const Bytes image = bytes_of(stage.state_image());
  const auto source = stage.image_source();
  (void)stage.contribute_round(0);
  const auto after = stage.image_source();
  (void)stage.restart_from_outer();
  EXPECT_EQ(read_all(*source, 999), image);
  LocalPipeline resumed(config, 1);
  Bytes kept = read_all(*after, 999);
  auto buffer = std::make_shared<AlignedBuffer>(kept.size());
  std::memcpy(buffer->data(), kept.data(), kept.size());
  const TensorBlob contributed{DType::kUint8, {static_cast<std::int64_t>(kept.size())}, std::move(buffer)};
  ASSERT_TRUE(load(resumed.stage(0), contributed, 1000).ok());
  EXPECT_EQ(bytes_of(resumed.stage(0).state_image()), kept);
}

}  // namespace
}  // namespace shoal::state_pieces_test
