// Which thread the router works on, in a real actor system with its I/O thread.
#include "actors/router/io_router.h"

#include <future>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <caf/all.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/multiplexer.hpp>

#include "runtime/transport/caf_config.h"

namespace shoal::io_router_test {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;
constexpr RunId kRun{7};
constexpr Term kTerm{2};

class IoRouter : public ::testing::Test {
 protected:
  struct Config : caf::actor_system_config {
    Config() {
      configure_caf(*this, CafSettings{.threads = 2});
      add_message_types<caf::id_block::shoal>();
    }
  };

  ~IoRouter() override {
    for (const RouterActor& router : routers_) caf::anon_send_exit(router, caf::exit_reason::kill);
    routers_.clear();
    system_.await_all_actors_done();
  }

  [[nodiscard]] std::thread::id io_thread() {
    std::promise<std::thread::id> id;
    system_.middleman().backend().post([&id] { id.set_value(std::this_thread::get_id()); });
    return id.get_future().get();
  }
  [[nodiscard]] caf::actor_system& system() { return system_; }
  [[nodiscard]] RouterActor keep(RouterActor router) {
    routers_.push_back(router);
    return router;
  }

 private:
  Config config_;
  caf::actor_system system_{config_};
  std::vector<RouterActor> routers_;
};

struct FirstThread {
  std::promise<std::thread::id> id;
  std::atomic<int> visits = 0;
};

// A router notes where it works when it is given a letter for another process.
RouterConfig spawner_that_notes(const std::shared_ptr<FirstThread>& worked) {
  RouterConfig config;
  config.self = {ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, kTerm};
  config.filter = [worked](const Letter&) {
    if (worked->visits++ == 0) worked->id.set_value(std::this_thread::get_id());
    return 1;
  };
  return config;
}

[[nodiscard]] std::thread::id thread_of_a_letter(const RouterActor& router, FirstThread& worked) {
  caf::anon_send(router, Letter{{}, to_node_agent(ProcessIncarnation{9}), Heartbeat{}});
  auto id = worked.id.get_future();
  return id.wait_for(kPatience) == std::future_status::ready ? id.get() : std::thread::id{};
}

TEST_F(IoRouter, WorksOnTheThreadOfTheLinksWhoeverSends) {
  const auto worked = std::make_shared<FirstThread>();
  const RouterActor router = keep(spawn_io_router(system(), spawner_that_notes(worked)));
  EXPECT_EQ(thread_of_a_letter(router, *worked), io_thread());
}

TEST_F(IoRouter, ARouterOfTheSchedulerWorksElsewhere) {
  const auto worked = std::make_shared<FirstThread>();
  const RouterActor other = keep(system().spawn(router, spawner_that_notes(worked)));
  const auto thread = thread_of_a_letter(other, *worked);
  EXPECT_NE(thread, io_thread());
  EXPECT_NE(thread, std::thread::id{});
}

TEST_F(IoRouter, ItsTimersWakeTheThreadOfTheLinks) {
  const auto elsewhere = std::make_shared<std::atomic<int>>(0);
  const auto dials = std::make_shared<std::atomic<int>>(0);
  const auto often = std::make_shared<std::promise<void>>();
  RouterConfig config;
  config.self = {ProcessRole::kNode, std::nullopt, "node", kRun, kTerm};
  config.spawner = Endpoint{"127.0.0.1", 1};
  config.dialler = [elsewhere, dials, often, io = io_thread()](const Endpoint&) {
    if (std::this_thread::get_id() != io) ++*elsewhere;
    if (++*dials == 3) often->set_value();
    return caf::actor{};
  };
  (void)keep(spawn_io_router(system(), std::move(config)));
  EXPECT_EQ(often->get_future().wait_for(kPatience), std::future_status::ready) << *dials << " dials";
  EXPECT_EQ(*elsewhere, 0);
}

TEST_F(IoRouter, EndsLikeAnyActor) {
  RouterConfig config;
  config.self = {ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, kTerm};
  const RouterActor router = spawn_io_router(system(), std::move(config));
  caf::scoped_actor self{system()};
  self->monitor(router);
  caf::anon_send_exit(router, caf::exit_reason::user_shutdown);
  bool is_down = false;
  self->receive([&](const caf::down_msg& down) { is_down = down.source == router.address(); },
                caf::after(kPatience) >> [] {});
  EXPECT_TRUE(is_down);
}

}  // namespace
}  // namespace shoal::io_router_test
