// The lanes of a process: one thread for all of them, beside the actor library's.
//
// A lane begins as a TLS connection to the door that all connections come to, told apart by its application protocol
// (ALPN). It opens with the key that the accepting side gave over the link (a secret of the two processes); what
// follows is frames of letters (assembly.h), both ways. A peer with a certificate that shows no good key in time is
// closed. Two processes of one user on one machine take a shorter way from there: the local door (lane_greeting.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <caf/actor.hpp>

#include "messages/actor_types.h"
#include "runtime/transport/admission.h"
#include "runtime/transport/lanes/descriptor_watch.h"
#include "runtime/transport/lanes/lane_connection.h"
#include "runtime/transport/lanes/lane_dialler.h"
#include "runtime/transport/lanes/lane_limits.h"
#include "runtime/transport/lanes/lanes.h"
#include "runtime/transport/lanes/local_door.h"
#include "runtime/transport/lanes/outbox.h"

namespace shoal {

struct LaneCounters {
  std::uint64_t opened = 0;
  std::uint64_t opened_locally = 0;  // those at a local door: ours or the other side's
  std::uint64_t refused = 0;         // accepted connections that showed no good key, or came when too many waited
  std::uint64_t broken = 0;
  std::uint64_t dials_failed = 0;
};

class TlsLanes final : public Lanes {
 public:
  explicit TlsLanes(std::shared_ptr<const TlsContext> context, const LaneLimits& limits = {});
  ~TlsLanes() override;

  void tell(const caf::actor& user) override;
  [[nodiscard]] std::uint64_t expect(LinkId link) override;
  void open(LinkId link, const Endpoint& endpoint, std::uint64_t key) override;
  [[nodiscard]] LaneOutcome send(LinkId link, EncodedLetter letter) override;
  void close(LinkId link) override;

  // A connection that came through the door and asked for a lane; its session is taken over, whatever becomes of it.
  void adopt(Socket socket, ssl_st* session);
  [[nodiscard]] LaneCounters counters() const;
  // The name of this process's local door; empty: it has none.
  [[nodiscard]] std::string local_door() const { return door_ ? door_->name() : std::string(); }
  // Ends all lanes and both threads. Idempotent; nothing is told afterwards.
  void stop();

 private:
  // Tasks from other threads for that of the lanes.
  struct NewConnection {
    std::optional<LinkId> link;  // none: it must show a key
    std::unique_ptr<LaneSocket> socket;
  };
  struct HasOutput {
    LinkId link;
  };
  struct IsOver {
    LinkId link;
  };
  using Task = std::variant<NewConnection, HasOutput, IsOver>;

  void work();
  void add_task(Task task);
  [[nodiscard]] bool is_stopping() const;
  void hear(const DescriptorEvent& event);
  // Says whether a turn of it would move something now.
  [[nodiscard]] bool can_go_on(const LaneConnection& connection, Instant when) const;
  [[nodiscard]] int wait_ms(Instant when) const;
  void accept_locally();
  void do_tasks();
  void do_task(NewConnection& task);
  void make_room_for_newcomer();
  void do_task(const HasOutput& task);
  void do_task(const IsOver& task);
  // Reads and writes a little. False: the connection is over, and its user told why.
  [[nodiscard]] bool turn(LaneConnection& connection);
  [[nodiscard]] bool claim(LaneConnection& connection, const LaneClaim& claim);
  // False: its link is over.
  [[nodiscard]] bool bind(LaneConnection& connection, LinkId link);
  void break_off(const LaneConnection& connection, const std::string& reason);
  void end_unclaimed();
  void deliver(LaneConnection& connection, Assembled assembled);
  void tell_progress(LinkId link, Arriving arriving);
  void change(LinkId link, LaneChange::Kind kind, const std::string& reason = {});

  LaneLimits limits_;
  DescriptorWatch watch_;
  std::optional<LocalDoor> door_;

  mutable std::mutex mutex_;  // guards what other threads see
  caf::actor user_;
  struct LinkLane {
    std::uint64_t key = 0;  // 0: we open it
    std::shared_ptr<Outbox> outbox;
  };
  std::map<LinkId, LinkLane> links_;  // links that may have a lane
  std::vector<Task> tasks_;
  LaneCounters counters_;
  bool is_stopping_ = false;

  std::map<int, std::unique_ptr<LaneConnection>> connections_;  // the thread's own, by descriptor
  std::map<LinkId, int> bound_;                                 // its too
  RefusalLog local_refusals_;                                   // likewise
  struct Rates {
    RateBucket up;
    RateBucket down;
  };
  Rates rates_;

  LaneDialler dialler_;
  std::thread thread_;
};

}  // namespace shoal
