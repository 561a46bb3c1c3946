// Tests what the guard lets through to the actor library: every frame that the library writes for us, and nothing else.
// Each honest frame is flipped bit by bit, cut and lengthened.
#include "runtime/transport/guard/frame_guard.h"

#include <gtest/gtest.h>

#include <caf/all.hpp>
#include <caf/io/basp/all.hpp>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "messages/actor_types.h"
#include "tests/support/guest/guest_frames.h"

namespace shoal::frame_guard_test {
namespace {

using guest::Conversation;
using Verdict = FrameGuard::Verdict;
using Side = FrameGuard::Side;

constexpr std::uint32_t kFrameMax = 100000;

basp::Node node_of(const std::string& bytes) {
  basp::Node node;
  std::copy_n(bytes.begin(), node.size(), node.begin());
  return node;
}

// The peer is `who.self`; the guarded process is `who.peer`.
Conversation conversation() {
  Conversation who;
  who.self = guest::made_up_node(1);
  who.peer = guest::made_up_node(2);
  who.peer_actor = 23;
  return who;
}

FrameGuard guard_at(Side side) { return {side, node_of(conversation().peer), kFrameMax}; }

// One frame, as it comes off a connection: the header, and the payload if the guard waits for it.
Verdict judge(FrameGuard& guard, const std::string& frame) {
  const std::size_t head = std::min(frame.size(), FrameGuard::kHeaderBytes);
  const Verdict verdict = guard.inspect(frame.data(), head);
  if (verdict != Verdict::kWait) return verdict;
  const std::size_t size = frame.size() - head;
  if (size != guard.next_read_bytes()) return Verdict::kWait;  // the rest never comes
  return guard.inspect(frame.data() + head, guard.drops_payload() ? 0 : size);
}

FrameGuard greeted(Side side) {
  FrameGuard guard = guard_at(side);
  const Conversation who = conversation();
  const std::string greeting = side == Side::kAccepted ? client_greeting(who, false) : server_greeting(who);
  EXPECT_EQ(judge(guard, greeting), Verdict::kDeliver) << guard.reason();
  return guard;
}

// The library's own writing, by an actor system of its own.
class Library {
 public:
  Library() { config_.add_message_types<caf::id_block::shoal>(); }
  using Writer = std::function<caf::error(caf::serializer&)>;

  std::string write(caf::io::basp::header header, const Writer& write_payload) {
    caf::scoped_execution_unit unit{&system()};
    std::vector<char> bytes;
    auto writer = caf::make_callback([&](caf::serializer& sink) -> caf::error { return write_payload(sink); });
    caf::io::basp::instance::write(&unit, bytes, header, write_payload ? &writer : nullptr);
    return {bytes.begin(), bytes.end()};
  }
  caf::actor_system& system() {
    if (!system_) system_.emplace(config_);
    return *system_;
  }

 private:
  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
};

caf::node_id node_named(const std::string& bytes, caf::actor_system& system) {
  caf::node_id node;
  caf::binary_deserializer source{system, bytes.data(), bytes.size()};
  EXPECT_FALSE(source(node));
  return node;
}

struct Written {
  std::string name;
  std::string by_library;
  std::string by_hand;
};

// Each kind of frame that honest processes send each other.
std::vector<Written> honest_frames() {
  using caf::io::basp::message_type;
  Library library;
  const Conversation who = conversation();
  caf::node_id self = node_named(who.self, library.system());
  caf::node_id peer = node_named(who.peer, library.system());
  const auto async = caf::make_message_id().integer_value();
  std::vector<caf::strong_actor_ptr> no_stages;
  const auto message = [&](caf::message content) {
    return [&no_stages, content](caf::serializer& sink) { return sink(no_stages, content); };
  };
  const auto text = std::string("a letter's frame");
  std::vector<std::string> names{"generic-caf-app"};
  std::set<std::string> no_signatures;
  caf::actor_id actor = who.own_actor;
  const auto spawn_server = static_cast<std::uint64_t>(caf::atom("SpawnServ"));
  const caf::error gone = caf::exit_reason::user_shutdown;
  std::vector<Written> frames;
  frames.push_back({"server greeting",
                    library.write({message_type::server_handshake, 0, 0, caf::io::basp::version, 0, 0},
                                  [&](caf::serializer& sink) { return sink(self, names, actor, no_signatures); }),
                    server_greeting(who)});
  for (const bool selects : {false, true}) {
    frames.push_back(
        {selects ? "second client greeting" : "client greeting",
         library.write({message_type::client_handshake, static_cast<std::uint8_t>(selects ? 2 : 0), 0, 0, 0, 0},
                       [&](caf::serializer& sink) { return sink(self); }),
         client_greeting(who, selects)});
  }
  frames.push_back({"letter",
                    library.write({message_type::direct_message, 0, 0, async, who.own_actor, who.peer_actor},
                                  message(caf::make_message(WireFrame{{text.begin(), text.end()}}))),
                    letter_frame(who, text)});
  frames.push_back({"monitor",
                    library.write({message_type::monitor_message, 0, 0, 0, 0, who.peer_actor},
                                  [&](caf::serializer& sink) { return sink(self, peer); }),
                    monitor_frame(who)});
  frames.push_back({"down",
                    library.write({message_type::down_message, 0, 0, 0, who.own_actor, 0},
                                  [&](caf::serializer& sink) { return sink(self, peer, gone); }),
                    down_frame(who)});
  frames.push_back(
      {"heartbeat", library.write({message_type::heartbeat, 0, 0, 0, 0, 0}, {}), guest::heartbeat_frame()});
  frames.push_back({"info question",
                    library.write({message_type::direct_message, 1, 0, async, who.own_actor, spawn_server},
                                  message(caf::make_message(caf::sys_atom_v, caf::get_atom_v, "info"))),
                    info_question(who)});
  return frames;
}

TEST(FrameGuard, ReadsWhatTheLibraryWrites) {
  for (const Written& frame : honest_frames()) {
    EXPECT_EQ(frame.by_library, frame.by_hand) << frame.name;
    const bool is_of_server = frame.name == "server greeting";
    const bool is_greeting = is_of_server || frame.name == "client greeting";
    FrameGuard guard =
        is_greeting ? guard_at(is_of_server ? Side::kDialled : Side::kAccepted) : greeted(Side::kAccepted);
    const Verdict expected = frame.name == "info question" ? Verdict::kDrop : Verdict::kDeliver;
    EXPECT_EQ(judge(guard, frame.by_library), expected) << frame.name << ": " << guard.reason();
  }
}

// The library sends this answer to a process of an older version that still reads its question.
TEST(FrameGuard, DropsTheLibrarysAnswerToItsOwnQuestion) {
  Library library;
  const Conversation who = conversation();
  const auto async = caf::make_message_id().integer_value();
  std::vector<caf::strong_actor_ptr> no_stages;
  const auto answer =
      caf::make_message(caf::ok_atom_v, std::string("info"), caf::strong_actor_ptr{}, std::string("config server"));
  const std::string frame =
      library.write({caf::io::basp::message_type::direct_message, 0, 0, async, who.own_actor, who.peer_actor},
                    [&](caf::serializer& sink) { return sink(no_stages, answer); });
  FrameGuard guard = greeted(Side::kDialled);
  EXPECT_EQ(judge(guard, frame), Verdict::kDrop) << guard.reason();
  EXPECT_EQ(judge(guard, letter_frame(who, "still")), Verdict::kDeliver);
}

// Bits of a frame that an honest peer may choose: numbers of actors and processes, hosts, texts, reasons.
bool is_free(const std::string& frame, std::size_t byte) {
  const auto operation = static_cast<basp::Operation>(frame[0]);
  const auto in = [byte](std::size_t begin, std::size_t end) { return byte >= begin && byte < end; };
  const std::size_t head = FrameGuard::kHeaderBytes;
  switch (operation) {
    case basp::Operation::kServerHandshake: {
      const std::size_t names = head + basp::kNodeBytes;
      const std::size_t actor = frame.size() - 9;
      return in(head + 8, names) || in(names + 2, actor) || in(actor, actor + 8);
    }
    case basp::Operation::kClientHandshake: return in(head + 8, head + basp::kNodeBytes);
    case basp::Operation::kDirectMessage:
      if (frame[3] == 1) return in(16, 24);
      return in(16, 32) || in(frame.size() - std::string("a letter's frame").size(), frame.size());
    case basp::Operation::kMonitor: return in(24, 32);
    case basp::Operation::kDown: return in(16, 24) || in(head + 64, head + 64 + 9);
    default: return false;
  }
}

TEST(FrameGuard, EveryFlippedBitOfAnHonestFrameIsNoticedWhereItIsNotThePeersChoice) {
  for (const Written& frame : honest_frames()) {
    const bool is_of_server = frame.name == "server greeting";
    const bool is_greeting = is_of_server || frame.name == "client greeting";
    for (std::size_t bit = 0; bit < 8 * frame.by_hand.size(); ++bit) {
      std::string flipped = frame.by_hand;
      flipped[bit / 8] ^= static_cast<char>(1U << (bit % 8));
      FrameGuard guard =
          is_greeting ? guard_at(is_of_server ? Side::kDialled : Side::kAccepted) : greeted(Side::kAccepted);
      const Verdict verdict = judge(guard, flipped);
      if (is_free(frame.by_hand, bit / 8)) continue;
      // One bit makes a direct message a routed one, and of nothing words for an actor's end: both are dropped.
      const bool is_dropped = (flipped[0] == 3 || frame.name == "down") && verdict == Verdict::kDrop;
      EXPECT_TRUE(verdict == Verdict::kClose || verdict == Verdict::kWait || is_dropped)
          << frame.name << " bit " << bit % 8 << " of byte " << bit / 8;
    }
  }
}

std::string with_length(std::string frame) {
  return frame.replace(4, 4, guest::big_endian(frame.size() - FrameGuard::kHeaderBytes, 4));
}

TEST(FrameGuard, NoFrameIsReadThatIsCutOrLonger) {
  for (const Written& frame : honest_frames()) {
    const bool is_of_server = frame.name == "server greeting";
    const bool is_greeting = is_of_server || frame.name == "client greeting";
    const auto fresh = [&] {
      return is_greeting ? guard_at(is_of_server ? Side::kDialled : Side::kAccepted) : greeted(Side::kAccepted);
    };
    for (std::size_t size = FrameGuard::kHeaderBytes; size < frame.by_hand.size(); ++size) {
      FrameGuard guard = fresh();
      EXPECT_NE(judge(guard, with_length(frame.by_hand.substr(0, size))), Verdict::kDeliver) << frame.name << size;
    }
    FrameGuard guard = fresh();
    EXPECT_NE(judge(guard, with_length(frame.by_hand + '\0')), Verdict::kDeliver) << frame.name;
  }
}

TEST(FrameGuard, NoAnnouncedLengthIsBelieved) {
  const Conversation who = conversation();
  for (const std::uint64_t length :
       {std::uint64_t{kFrameMax} + 1, std::uint64_t{1} << 31U, (std::uint64_t{1} << 32U) - 1}) {
    for (const Written& frame : honest_frames()) {
      std::string longer = frame.by_hand;
      longer.replace(4, 4, guest::big_endian(length, 4));
      FrameGuard guard = greeted(Side::kAccepted);
      EXPECT_EQ(judge(guard, longer), Verdict::kClose) << frame.name << " " << length;
    }
    FrameGuard guard = greeted(Side::kAccepted);
    EXPECT_EQ(judge(guard, guest::announcing_frame(who, length)), Verdict::kClose);
  }
  FrameGuard over_32_bits = greeted(Side::kAccepted);
  EXPECT_EQ(judge(over_32_bits, guest::announcing_frame(who, (std::uint64_t{1} << 35U) + 22)), Verdict::kClose);
  FrameGuard in_too_many_bytes = greeted(Side::kAccepted);
  std::string padded = guest::message_frame(who, "@<>+shoal::WireFrame", std::string("\x81\x00x", 3));
  EXPECT_EQ(judge(in_too_many_bytes, padded), Verdict::kClose);
  FrameGuard control = greeted(Side::kAccepted);
  EXPECT_EQ(judge(control, guest::announcing_frame(who, 22)), Verdict::kDeliver) << "as many as there are";
}

TEST(FrameGuard, OnlyLettersAreMessages) {
  const Conversation who = conversation();
  for (const std::string_view types : {"@<>", "@<>+@str", "@<>+@strong_actor_ptr", "@<>+@atom+@strong_actor_ptr",
                                       "@<>+@message", "@<>+@error", "@<>+@down", "@<>+@exit", "@<>+shoal::Letter",
                                       "@<>+shoal::WireFrame+shoal::WireFrame", "@<>+shoal::WireFram"}) {
    FrameGuard guard = greeted(Side::kAccepted);
    EXPECT_EQ(judge(guard, guest::message_frame(who, types, std::string(1, '\0'))), Verdict::kClose) << types;
  }
  FrameGuard control = greeted(Side::kAccepted);
  EXPECT_EQ(judge(control, guest::message_frame(who, "@<>+shoal::WireFrame", std::string(1, '\0'))), Verdict::kDeliver);
}

TEST(FrameGuard, NothingIsReadBeforeAGreeting) {
  for (const Written& frame : honest_frames()) {
    if (frame.name == "client greeting") continue;
    FrameGuard guard = guard_at(Side::kAccepted);
    EXPECT_EQ(judge(guard, frame.by_hand), Verdict::kClose) << frame.name;
  }
}

TEST(FrameGuard, AConnectionSpeaksForOneProcessForEver) {
  const Conversation who = conversation();
  Conversation other = who;
  other.self = guest::made_up_node(7);
  FrameGuard guard = greeted(Side::kAccepted);
  EXPECT_EQ(judge(guard, client_greeting(who, true)), Verdict::kDeliver) << guard.reason();
  EXPECT_EQ(judge(guard, client_greeting(who, true)), Verdict::kClose) << "twice";
  FrameGuard renamed = greeted(Side::kAccepted);
  EXPECT_EQ(judge(renamed, client_greeting(other, true)), Verdict::kClose);
  FrameGuard again = greeted(Side::kAccepted);
  EXPECT_EQ(judge(again, client_greeting(who, false)), Verdict::kClose);
  FrameGuard of_server = greeted(Side::kDialled);
  EXPECT_EQ(judge(of_server, server_greeting(who)), Verdict::kClose);
  Conversation as_us = who;
  as_us.self = who.peer;
  FrameGuard mirror = guard_at(Side::kAccepted);
  EXPECT_EQ(judge(mirror, client_greeting(as_us, false)), Verdict::kClose);
  for (const auto& frame : {guest::monitor_frame(other), guest::down_frame(other)}) {
    FrameGuard for_another = greeted(Side::kAccepted);
    EXPECT_EQ(judge(for_another, frame), Verdict::kClose);
  }
}

TEST(FrameGuard, S6WhatTheLibraryRemembersOfAConnectionIsBounded) {
  const Conversation who = conversation();
  Conversation second = who;
  second.own_actor = 18;
  FrameGuard guard = greeted(Side::kAccepted);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(judge(guard, letter_frame(who, "one")), Verdict::kDeliver);
  EXPECT_EQ(judge(guard, letter_frame(second, "two")), Verdict::kClose) << "another actor speaks";
  FrameGuard watched = greeted(Side::kAccepted);
  for (int i = 0; i < FrameGuard::kMonitorsMax; ++i) {
    ASSERT_EQ(judge(watched, guest::monitor_frame(who)), Verdict::kDeliver);
  }
  EXPECT_EQ(judge(watched, guest::monitor_frame(who)), Verdict::kClose);
}

TEST(FrameGuard, DropsFramesForThirdProcessesWhole) {
  const Conversation who = conversation();
  FrameGuard guard = greeted(Side::kAccepted);
  const std::string routed = guest::routed_frame(who);
  EXPECT_EQ(guard.inspect(routed.data(), FrameGuard::kHeaderBytes), Verdict::kWait);
  EXPECT_TRUE(guard.drops_payload());
  EXPECT_EQ(guard.next_read_bytes(), routed.size() - FrameGuard::kHeaderBytes);
  EXPECT_EQ(guard.inspect(nullptr, 0), Verdict::kDrop);
  EXPECT_EQ(guard.next_read_bytes(), FrameGuard::kHeaderBytes);
  EXPECT_EQ(judge(guard, guest::heartbeat_frame()), Verdict::kDeliver);
}

// The end of an actor that threw: its words are not read, and its process is about to end.
TEST(FrameGuard, DropsTheWordsOfAnActorsEnd) {
  Library library;
  const Conversation who = conversation();
  const caf::node_id self = node_named(who.self, library.system());
  const caf::node_id peer = node_named(who.peer, library.system());
  const caf::error threw = caf::make_error(caf::sec::runtime_error, std::string("exception: a bug"));
  const std::string frame = library.write({caf::io::basp::message_type::down_message, 0, 0, 0, who.own_actor, 0},
                                          [&](caf::serializer& sink) { return sink(self, peer, threw); });
  FrameGuard guard = greeted(Side::kAccepted);
  EXPECT_EQ(judge(guard, frame), Verdict::kDrop) << guard.reason();
  EXPECT_EQ(judge(guard, guest::heartbeat_frame()), Verdict::kDeliver);
}

TEST(FrameGuard, BadFramesOfEveryKindNeverReachBeyondTheirBytes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  guest::BadFrames frames(seed);
  const Conversation who = conversation();
  std::map<Verdict, int> verdicts;
  for (int i = 0; i < 50000; ++i) {
    FrameGuard guard = i % 3 == 0 ? guard_at(Side::kAccepted) : greeted(i % 2 == 0 ? Side::kAccepted : Side::kDialled);
    const std::string frame = frames.next(who);
    // A copy of its very size: a read beyond it is an error of the address sanitizer.
    const std::vector<char> exact(frame.begin(), frame.end());
    ++verdicts[judge(guard, {exact.begin(), exact.end()})];
    EXPECT_LE(guard.next_read_bytes(), std::max<std::size_t>(kFrameMax, basp::kServerHandshakeBytesMax));
  }
  EXPECT_GT(verdicts[Verdict::kClose], 10000);
  EXPECT_GT(verdicts[Verdict::kDeliver], 100) << "letters that are nonsense are the router's to refuse";
}

}  // namespace
}  // namespace shoal::frame_guard_test
