// bench_guest RUN FRAMES_PER_SECOND SECONDS SEED PID...: bad frames of every kind with a node's certificate of the run,
// at every port that these processes listen at but the control endpoint's. Prints how many were said.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/ensure.h"
#include "runtime/base/file.h"
#include "runtime/transport/certificates.h"
#include "tests/support/guest/guest.h"
#include "tests/support/guest/listening_ports.h"

namespace shoal {
namespace {

// Issued anew, by the run's own authority, as for any node that brings a token.
TlsFiles certificate_of(const std::string& run, const std::string& folder) {
  const auto authority = Authority::open(run + "/certs");
  ENSURE(authority.ok(), "the run has its authority");
  const auto now = std::chrono::system_clock::now();
  const auto issued = authority->issue({authority->run(), PeerRole::kNode, "guest"}, usual_validity(now));
  ENSURE(issued.ok(), "it issues certificates");
  const TlsFiles files = credential_files(folder, "node");
  ENSURE(write_credentials(files, *issued).ok(), "they can be written");
  return files;
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 5) {
    std::fputs("usage: bench_guest RUN FRAMES_PER_SECOND SECONDS SEED PID...\n", stderr);
    return 2;
  }
  const std::string& directory = words[0];
  const std::string folder = directory + "/guest";
  std::filesystem::create_directories(folder);
  const TlsFiles files = certificate_of(directory, folder);
  const auto spawner = read_file(directory + "/spawner.json");
  std::vector<std::uint16_t> doors;
  for (std::size_t i = 4; i < words.size(); ++i) {
    for (const std::uint16_t port : guest::listening_ports(std::atoi(words[i].c_str()))) {
      const bool is_control = spawner && spawner->find(":" + std::to_string(port) + "\"") != std::string::npos;
      if (!is_control) doors.push_back(port);
    }
  }
  ENSURE(!doors.empty(), "the processes listen somewhere");
  const double rate = std::atof(words[1].c_str()) / static_cast<double>(doors.size());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(words[2].c_str()));
  const auto seed = std::strtoull(words[3].c_str(), nullptr, 10);
  std::vector<guest::AttackReport> reports(doors.size());
  std::vector<std::thread> attackers;
  for (std::size_t i = 0; i < doors.size(); ++i) {
    attackers.emplace_back([&, i] {
      reports[i] = guest::attack({{"127.0.0.1", doors[i]}, files, seed + i, ~std::uint64_t{0}, rate},
                                 [end] { return std::chrono::steady_clock::now() >= end; });
    });
  }
  for (std::thread& attacker : attackers) attacker.join();
  guest::AttackReport sum;
  for (const auto& report : reports) {
    sum.said += report.said;
    sum.connections += report.connections;
    sum.turned_away += report.turned_away;
  }
  std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(sum.said),
              static_cast<unsigned long long>(sum.connections), static_cast<unsigned long long>(sum.turned_away));
  return 0;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) { return shoal::run({argv + 1, argv + argc}); }
