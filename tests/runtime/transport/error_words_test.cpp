// Tests what people are told about errors of the actor library.
#include "runtime/transport/error_words.h"

#include <gmock/gmock.h>

#include <caf/all.hpp>

namespace shoal::error_words_test {
namespace {

TEST(ErrorWords, AreNoNamesOfTheLibrary) {
  EXPECT_EQ(words_of(caf::exit_reason::kill), "killed");
  EXPECT_EQ(words_of(caf::exit_reason::user_shutdown), "told to end");
  EXPECT_EQ(words_of(caf::sec::request_timeout), "no answer in time");
  EXPECT_EQ(words_of(caf::sec::runtime_error), "error");
  EXPECT_EQ(words_of(caf::make_error(caf::sec::runtime_error, "the sum is refused")), "the sum is refused");
  EXPECT_EQ(words_of(caf::make_error(caf::sec::cannot_connect_to_node, "host")), "cannot connect: host");
  EXPECT_EQ(words_of(caf::error()), "done");
  EXPECT_THAT(words_of(caf::sec::invalid_stream_state), ::testing::HasSubstr("invalid_stream_state"))
      << "better than none";
  EXPECT_EQ(words_of_lost_link(caf::exit_reason::user_shutdown), "closed");
  EXPECT_EQ(words_of_lost_link(caf::sec::socket_disconnected), "closed by the other side");
}

// Ends with what is told to it, as every actor here does.
caf::behavior thrower(caf::event_based_actor* self, bool tells) {
  if (tells) self->set_exception_handler(error_of);
  return {[](const std::string& what) { throw std::runtime_error(what); }, [](int number) { throw number; }};
}

template <class Message>
std::string words_of_end(bool tells, const Message& message) {
  caf::actor_system_config config;
  config.set("scheduler.max-threads", 1);
  caf::actor_system system(config);
  caf::scoped_actor self{system};
  const auto actor = self->spawn<caf::monitored>(thrower, tells);
  self->send(actor, message);
  std::string words;
  self->receive([&words](const caf::down_msg& down) { words = words_of(down.reason); });
  return words;
}

TEST(ErrorWords, SayWhatWasThrown) {
  EXPECT_EQ(words_of_end(true, std::string("out of memory\nframe #0")), "exception: out of memory");
  EXPECT_EQ(words_of_end(true, std::string(1000, 'x')).size(), std::string("exception:  ...").size() + 300);
  EXPECT_EQ(words_of_end(true, 7), "exception of an unknown kind");
  EXPECT_EQ(words_of_end(false, std::string("out of memory")), "error") << "the control: the library tells nobody";
}

}  // namespace
}  // namespace shoal::error_words_test
