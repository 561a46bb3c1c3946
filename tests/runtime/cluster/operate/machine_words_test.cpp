// What machines give, in words and in a list.
#include "runtime/cluster/operate/machine_words.h"

#include <gtest/gtest.h>

namespace shoal::machine_words_test {
namespace {

TEST(MachineWords, SayWhatIsStatedAndNothingElse) {
  EXPECT_EQ(offer_text({}), "");
  EXPECT_EQ(offer_text({19'000'000'000, 0, 2, 24'000'000'000, 50'000'000, 0}),
            "38.0 GFLOP/s a thread, 24.0 GB, up 50 Mbit/s");
  EXPECT_EQ(offer_text({0, 2500, 0, 0, 0, 1'500'000'000}), "2.5 ms a forward, down 1500 Mbit/s");
  EXPECT_EQ(offer_text({0, 0, 0, 80'000'000'000, 0, 0, true, 256'000'000'000}),
            "80.0 GB, its machine 256.0 GB of host memory");
}

TEST(MachineList, HasLivingWorkersAndTheirDevices) {
  ProcessDirectory processes(FingerprintRule::kMayDiffer);
  Join join;
  join.nonce = 1;
  join.name = "a";
  join.device = "paced:5";
  join.offer.forward_us = 5000;
  (void)processes.admit(join, {1});
  join.nonce = 2;
  join.device_index = 1;
  (void)processes.admit(join, {2});
  join.nonce = 3;
  join.name = "storage";
  join.role = ProcessRole::kStorage;
  (void)processes.admit(join, {3});
  ASSERT_EQ(list_machines(processes).size(), 2u);
  EXPECT_EQ(list_machines(processes)[1].name, "a:1");
  EXPECT_EQ(list_machines(processes)[1].device, "paced:5");
  EXPECT_EQ(list_machines(processes)[1].offer.forward_us, 5000u);
  const DeviceUse use{1, 2, 3, 4, 5, 6, {7, 8, 9}};
  processes.note_use({2}, use);
  EXPECT_EQ(list_machines(processes)[0].use, DeviceUse{}) << "it has not told yet";
  EXPECT_EQ(list_machines(processes)[1].use, use);
  processes.lose({1});
  EXPECT_EQ(list_machines(processes).size(), 1u);
}

}  // namespace
}  // namespace shoal::machine_words_test
