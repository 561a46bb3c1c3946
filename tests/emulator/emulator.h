// A network between the processes of one machine, with faults that a test chooses and changes while they run.
//
//   process ──connect()──▶ redirect.cpp, in the process: "who is it that I dial?" ──▶ emulator: opens a door
//           ──────TCP────▶ door ──relay: faults of both directions──▶ the listener that was meant
//
// The programs are not changed and know nothing: environment() makes them load redirect.cpp, which asks the emulator at
// each listen() and connect(). Processes are known by their command lines (link_names.h). IPv4 only; an address that no
// known process listens at is dialled directly. Over a cut, dials hang as on a network that loses everything. Its seed
// decides the damage. Thread-safe.
#pragma once

#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tests/emulator/link_rules.h"
#include "tests/emulator/relay.h"

namespace shoal {

struct LinkCounts {
  std::uint64_t connections = 0;
  std::uint64_t bytes = 0;  // bytes that arrived
  DamageCounts damage;
};

class LinkEmulator {
 public:
  explicit LinkEmulator(std::uint64_t seed);
  ~LinkEmulator();
  LinkEmulator(const LinkEmulator&) = delete;
  LinkEmulator& operator=(const LinkEmulator&) = delete;

  // Variables that a program, and whatever it starts, needs to be in this network.
  [[nodiscard]] std::map<std::string, std::string> environment() const;
  // A command of link_rules.h. Errors: kUsage.
  [[nodiscard]] Status command(std::string_view text);
  // Counts what has passed from one to the other; "*" is anybody.
  [[nodiscard]] LinkCounts counts(const std::string& from, const std::string& to) const;

  // A port of the target's host by which `ends.from` reaches the target, once; nothing where the network is cut.
  // Errors: kUnreachable, nobody listens there.
  [[nodiscard]] Result<std::optional<std::uint16_t>> open_door(const LinkEnds& ends, const HostPort& target);

 private:
  struct Door {
    Socket listener;
    Socket target;
    LinkEnds ends;
    Instant until;
  };

  void run();
  void work(Instant now);
  void accept_at_doors(Instant now);
  [[nodiscard]] std::vector<pollfd> waits(Instant now) const;
  [[nodiscard]] int timeout_ms(Instant now) const;
  [[nodiscard]] FaultsOfRelay faults_of(const LinkEnds& ends, Instant now) const;
  void count(const Relay& relay);

  void answer_requests();
  [[nodiscard]] std::string answer(const std::string& request);
  [[nodiscard]] std::string answer_listen(const std::string& name, const HostPort& address);
  [[nodiscard]] std::string answer_connect(const std::string& name, const HostPort& address);
  [[nodiscard]] Status obey(std::string_view text);
  [[nodiscard]] Result<std::optional<std::uint16_t>> make_door(const LinkEnds& ends, const HostPort& target);

  std::filesystem::path folder_;
  Socket requests_;
  Socket wake_;
  Socket nowhere_;  // a listener that takes nobody in
  Socket nowhere_filler_;
  std::uint16_t nowhere_port_ = 0;

  mutable std::mutex mutex_;
  std::uint64_t next_seed_;
  bool is_ending_ = false;
  LinkRules rules_;
  std::map<std::pair<std::string, std::uint16_t>, std::string> listeners_;
  std::list<Door> doors_;
  std::list<Relay> relays_;
  std::map<std::pair<std::string, std::string>, LinkCounts> counts_;  // for relays that are over, by sender, receiver
  std::thread thread_;
};

}  // namespace shoal
