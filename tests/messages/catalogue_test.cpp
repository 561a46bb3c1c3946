// The catalogue's facts agree with what the codec makes of the messages, and with what no process but one may say.
#include <random>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "messages/catalogue/facts.h"
#include "messages/codec.h"
#include "tests/messages/samples.h"

namespace shoal::catalogue_test {
namespace {

std::vector<MessageBody> samples_of_all() {
  std::mt19937_64 random(31);
  return samples::every_body(random);
}

TEST(Catalogue, NamesEveryMessageByItsType) {
  EXPECT_EQ(facts_of(Forward{}).name, "Forward");
  EXPECT_EQ(facts_of(FileKept{}).name, "FileKept");
  std::set<std::string_view> names;
  for (const MessageBody& body : samples_of_all()) names.insert(facts_of(body).name);
  EXPECT_EQ(names.size(), std::variant_size_v<MessageBody::Variant>);
}

TEST(Catalogue, FindsTheTensorsThatTheCodecFinds) {
  int with_tensors = 0;
  for (const MessageBody& body : samples_of_all()) {
    std::uint64_t bytes = 0;
    const auto buffers = encode(Letter{{}, {}, body}).buffers;
    for (const SharedBuffer& buffer : buffers) bytes += buffer->size();
    EXPECT_EQ(tensor_bytes(body), bytes) << facts_of(body).name;
    EXPECT_EQ(has_tensor(body), !buffers.empty()) << facts_of(body).name;
    with_tensors += has_tensor(body) ? 1 : 0;
  }
  EXPECT_GT(with_tensors, 6);
}

// A process that is not the spawner and says one of these would lead the others (S-7).
TEST(Catalogue, LetsNobodyButTheSpawnerGiveOrders) {
  for (const MessageBody& order : std::initializer_list<MessageBody>{
           Open{}, Zero{}, Prepare{}, Reduce{}, JournalEntries{}, Welcome{}, Peers{}, Revocations{}, SpawnStage{},
           EndStage{}, LeaveRun{}, EndProcess{}, Inject{}, SaveState{}}) {
    EXPECT_EQ(facts_of(order).said_by, Sayer::kSpawner) << facts_of(order).name;
  }
}

TEST(Catalogue, KnowsWhomAMessageNamesAsItsSender) {
  EXPECT_EQ(sending_process(Heartbeat{ProcessIncarnation{4}}), ProcessIncarnation{4});
  EXPECT_EQ(sending_process(Forward{}), std::nullopt);
  Forward forward;
  forward.sender = Incarnation{5};
  EXPECT_EQ(sending_replica(forward), Incarnation{5});
  StageReady ready;
  ready.process = ProcessIncarnation{6};
  ready.replica = Incarnation{7};
  EXPECT_EQ(sending_process(ready), ProcessIncarnation{6});
  EXPECT_EQ(sending_replica(ready), Incarnation{7});
  StateProgress progress;
  progress.replica = Incarnation{8};
  EXPECT_EQ(sending_replica(progress), Incarnation{8});
  progress.is_shard = true;
  EXPECT_EQ(sending_replica(progress), std::nullopt) << "storage says it, in the name of no replica";
  StepSum sum;
  sum.donor = Incarnation{9};
  EXPECT_EQ(sending_replica(sum), Incarnation{9});
  EXPECT_EQ(is_given_by_storage(sum), false);
  EXPECT_EQ(sending_replica(StateImage{}), std::nullopt);
  EXPECT_EQ(is_given_by_storage(StateImage{}), true);
  EXPECT_EQ(is_given_by_storage(progress), std::nullopt) << "it is given nothing";
}

}  // namespace
}  // namespace shoal::catalogue_test
