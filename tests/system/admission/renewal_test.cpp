// Certificates that end while their processes run: all of a run's are made anew for a few seconds, and the run lives
// through their end. A process that starts again afterwards finds a good certificate, and peers with good ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "runtime/base/file.h"
#include "runtime/transport/certificates.h"
#include "tests/support/process_scene.h"

namespace shoal::renewal_test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr Milliseconds kSoon{60'000};

WallTime now() { return std::chrono::system_clock::now(); }

WallTime end_of(const TlsFiles& files) {
  const auto text = read_file(files.certificate);
  const auto validity = text ? validity_of(*text) : text.failure();
  return validity ? validity->not_after : WallTime();
}

class Renewed : public testing::Test {
 protected:
  [[nodiscard]] std::string certs() const { return (scene.run() / "certs").string(); }
  [[nodiscard]] TlsFiles own(const std::string& name) const { return credential_files(certs(), name); }
  // Issues a certificate with another lifetime, as if long ago: what becomes of it is the same.
  void issue(const TlsFiles& files, PeerRole role, const std::string& name, std::chrono::seconds lifetime) const {
    const auto authority = Authority::open(certs());
    ASSERT_TRUE(authority.ok());
    const auto credentials =
        authority->issue({authority->run(), role, name}, {now() - std::chrono::seconds(1), now() + lifetime});
    ASSERT_TRUE(credentials.ok());
    ASSERT_TRUE(write_credentials(files, *credentials).ok());
  }
  [[nodiscard]] bool goes_on() { return scene.wait_for_steps(scene.records().steps.size() + 4); }
  // Its keeper starts it again.
  void kill_and_train_on(const char* kind) {
    const auto before = named_like(scene.processes(), kind);
    ASSERT_EQ(before.size(), 1U) << kind;
    ASSERT_EQ(::kill(before[0].pid, SIGKILL), 0);
    ASSERT_TRUE(wait_until(
        [&] {
          const auto after = named_like(scene.processes(), kind);
          return after.size() == 1 && after[0].pid != before[0].pid;
        },
        kSoon))
        << kind;
    ASSERT_TRUE(goes_on()) << "after the end of " << kind;
  }

  ProcessScene scene;
};

TEST_F(Renewed, ARunOutlivesTheCertificatesOfAllItsProcesses) {
  constexpr std::chrono::seconds kLifetime{20};
  const SmallRun small{1, 1, kEndless, {"sync.reduction=exact", "checkpoint.every=20"}};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", small, {"--steps", "3"})), 0);
  issue(own("spawner"), PeerRole::kSpawner, "spawner", kLifetime);
  issue(own("storage"), PeerRole::kStorage, "storage", kLifetime);
  issue(own("operator"), PeerRole::kOperator, "operator", kLifetime);
  const TlsFiles node = credential_files(scene.make_folder("node").string(), "node");
  issue(node, PeerRole::kNode, "brief", kLifetime);
  const std::vector<TlsFiles> all = {own("spawner"), own("storage"), own("operator"), node};
  WallTime last;
  for (const TlsFiles& files : all) last = std::max(last, end_of(files));

  Program& boss = scene.start({"spawner", "--resume", scene.run().string()});
  const Words join = wait_for_join_words(boss);
  Program& worker =
      scene.start({"node", "--join", join.at(2), "--certs", (scene.folder() / "node").string(), "--name", "brief"});
  ASSERT_TRUE(goes_on()) << boss.err() << worker.err();
  for (const TlsFiles& files : all) ASSERT_LT(end_of(files), now() + kLifetime) << "the control: " << files.certificate;
  const auto are_renewed = [&] {
    return std::ranges::all_of(all, [](const auto& files) { return end_of(files) > now() + std::chrono::hours(24); });
  };
  ASSERT_TRUE(wait_until(are_renewed, Milliseconds(kLifetime))) << boss.err() << worker.err();
  EXPECT_LT(now(), last) << "before any of them ended";
  ASSERT_TRUE(wait_until([&] { return now() > last + std::chrono::seconds(1); }, kSoon));
  ASSERT_TRUE(goes_on());
  // No process was started again so far: what listens and what dials shows the new ones.
  Program& status = scene.start({"status", "--run", scene.run().string()});
  EXPECT_EQ(status.wait(kSoon), 0) << status.err();
  Program& late = scene.start({"node", "--join", join.at(2), "--token", join.at(4), "--name", "late"});
  ASSERT_TRUE(wait_until([&] { return boss.err().find("[joined] late") != std::string::npos; }, kSoon)) << late.err();
  for (const char* kind : {"shoal-worker node --name brief", "internal-storage", "internal-spawner"}) {
    kill_and_train_on(kind);
  }
  ASSERT_TRUE(scene.stop_and_repeat_single(boss, small));
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

}  // namespace
}  // namespace shoal::renewal_test
