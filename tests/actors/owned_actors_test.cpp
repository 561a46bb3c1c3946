// Who is ended with its process, in a real actor system.
#include "actors/owned_actors.h"

#include <gtest/gtest.h>
#include <caf/all.hpp>

namespace shoal::owned_actors_test {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

class OwnedActorsTest : public ::testing::Test {
 protected:
  [[nodiscard]] caf::actor some_actor() {
    return system_.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int number) { return number; }}; });
  }
  [[nodiscard]] bool ends(const caf::actor& actor) {
    caf::scoped_actor self{system_};
    self->monitor(actor);
    bool is_over = false;
    self->receive([&](const caf::down_msg&) { is_over = true; }, caf::after(kPatience) >> [] {});
    return is_over;
  }
  [[nodiscard]] bool answers(const caf::actor& actor) {
    caf::scoped_actor self{system_};
    bool has_answered = false;
    self->request(actor, kPatience, 7).receive([&](int) { has_answered = true; }, [](const caf::error&) {});
    return has_answered;
  }
  ~OwnedActorsTest() override {
    for (const caf::actor& actor : owned_.take()) caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }

  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  OwnedActors owned_;
};

TEST_F(OwnedActorsTest, AreGivenInTheirOrderToWhoEndsThem) {
  const caf::actor first = some_actor();
  const caf::actor second = some_actor();
  const caf::actor gone = some_actor();
  owned_.add(second);
  owned_.add(gone);
  owned_.add_first(first);
  owned_.remove(gone.address());
  for (const caf::actor& actor : {first, second, gone}) EXPECT_TRUE(answers(actor)) << "nobody has ended it";
  EXPECT_EQ(owned_.take(), (std::vector<caf::actor>{first, second}));
  for (const caf::actor& actor : {first, second, gone}) caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

TEST_F(OwnedActorsTest, WhoComesWhileTheProcessEndsIsEndedAtOnce) {
  (void)owned_.take();
  for (const bool is_first : {false, true}) {
    const caf::actor late = some_actor();
    is_first ? owned_.add_first(late) : owned_.add(late);
    EXPECT_TRUE(ends(late));
  }
  EXPECT_TRUE(owned_.take().empty());
}

}  // namespace
}  // namespace shoal::owned_actors_test
