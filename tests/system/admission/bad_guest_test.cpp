// A node's certificate in bad hands, while a run trains: bad frames of every kind at the spawner, a worker and storage,
// at 70 a second each. Nobody dies, the bits stay, memory stays.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "tests/support/guest/guest.h"
#include "tests/support/guest/listening_ports.h"
#include "tests/system/admission/admitted_guest.h"

namespace shoal::bad_guest_test {
namespace {

constexpr std::uint64_t kMemoryMoreMax = 16 << 10;  // KiB
constexpr double kFramesPerSecond = 70;

// The most that each process of a run ever had, by what it is; the one with the most of several alike.
using Peaks = std::map<std::string, std::uint64_t>;

const std::map<std::string, std::string> kKinds = {
    {"spawner", "internal-spawner"}, {"storage", "internal-storage"}, {"worker", "shoal-worker node"}};

void look(const ProcessScene& scene, Peaks& peaks) {
  const auto all = scene.processes();
  for (const auto& [kind, words] : kKinds) {
    for (const ProcessEntry& process : named_like(all, words)) {
      peaks[kind] = std::max(peaks[kind], guest::peak_memory_of(process.pid));
    }
  }
}

// Trains to its end, looked at all the time.
Peaks peaks_of(const ProcessScene& scene, Program& program) {
  Peaks peaks;
  const bool is_over = wait_until(
      [&] {
        look(scene, peaks);
        return program.wait(Milliseconds{20}).has_value();
      },
      kRunLimit);
  EXPECT_TRUE(is_over && program.status() == 0) << program.err();
  return peaks;
}

// Returns the ports at which the processes listen, one each.
std::vector<std::uint16_t> all_doors(const ProcessScene& scene) {
  std::vector<std::uint16_t> doors;
  const auto all = scene.processes();
  for (const auto& [kind, words] : kKinds) {
    const auto alike = named_like(all, words);
    if (alike.empty()) continue;
    for (const std::uint16_t port : guest::listening_ports(alike.front().pid)) doors.push_back(port);
  }
  return doors;
}

TEST(BadGuest, ARunUnderAttackTrainsOnWithTheSameBits) {
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  ProcessScene scene;
  const SmallRun small{2, 2, 150, {"sync.reduction=exact"}};
  const Peaks calm = peaks_of(scene, scene.start(train(scene, "calm", small)));

  Program& attacked = scene.start(train(scene, "attacked", small));
  ASSERT_TRUE(scene.wait_for_steps(3, "attacked")) << attacked.err();
  const TlsFiles files = certificate_of_guest(scene, "attacked");
  const auto doors = all_doors(scene);
  ASSERT_EQ(doors.size(), kKinds.size());
  std::atomic<bool> is_over = false;
  std::vector<guest::AttackReport> reports(doors.size());
  std::vector<std::thread> attackers;
  for (std::size_t i = 0; i < doors.size(); ++i) {
    attackers.emplace_back([&, i] {
      reports[i] = guest::attack({{"127.0.0.1", doors[i]}, files, seed + i, 1'000'000, kFramesPerSecond},
                                 [&is_over] { return is_over.load(); });
    });
  }
  const Peaks peaks = peaks_of(scene, attacked);
  is_over = true;
  for (std::thread& attacker : attackers) attacker.join();

  EXPECT_EQ(scene.records("attacked").weights(), scene.records("calm").weights());
  EXPECT_EQ(scene.records("attacked").steps.size(), scene.records("calm").steps.size());
  for (const EventLine& event : scene.records("attacked").events) EXPECT_NE(event.event, "process_lost") << event.text;
  for (std::size_t i = 0; i < reports.size(); ++i) EXPECT_GT(reports[i].connections, 10U) << "door " << i;
  for (const auto& [kind, peak] : peaks) EXPECT_LT(peak, calm.at(kind) + kMemoryMoreMax) << kind << " (KiB)";
  const std::string log = read_all(scene.run("attacked") / "logs" / "spawner.log");
  EXPECT_NE(log.find("closed the connection with guest"), std::string::npos) << "it is named";
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run("attacked").string()}), 0);
}

}  // namespace
}  // namespace shoal::bad_guest_test
