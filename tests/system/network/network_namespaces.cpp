// Made and removed by the ip command.
#include "tests/system/network/network_namespaces.h"

#include <unistd.h>

#include <cstdlib>

namespace shoal {
namespace {

constexpr int kSwitch = 0;

}  // namespace

NetworkNamespaces::NetworkNamespaces(int host_count)
    : prefix_("shoal" + std::to_string(::getpid()) + "h"), host_count_(host_count) {
  if (::geteuid() != 0) why_not_ = "network namespaces need root";
  ip("netns add " + name_of(kSwitch));
  ip("-n " + name_of(kSwitch) + " link add bridge0 type bridge");
  ip("-n " + name_of(kSwitch) + " link set bridge0 up");
  for (int host = 1; host <= host_count_; ++host) connect(host);
}

NetworkNamespaces::~NetworkNamespaces() {
  why_not_.clear();
  for (int host = 0; host <= host_count_; ++host) ip("netns del " + name_of(host));
}

void NetworkNamespaces::connect(int host) {
  const std::string here = name_of(host);
  const std::string port = "port" + std::to_string(host);
  ip("netns add " + here);
  ip("-n " + name_of(kSwitch) + " link add " + port + " type veth peer name eth0 netns " + here);
  ip("-n " + name_of(kSwitch) + " link set " + port + " master bridge0 up");
  ip("-n " + here + " address add " + address_of(host) + "/24 dev eth0");
  ip("-n " + here + " link set eth0 up");
  ip("-n " + here + " link set lo up");
}

// Rules of routing, which the ip command has everywhere, in place of a packet filter, which has a command of its own:
// the table of local addresses is looked up for what may pass, and the rest of what comes by the wire is dropped.
void NetworkNamespaces::close_all_but(int host, const std::string& own, const std::string& others) {
  const std::string rule = "-n " + name_of(host) + " rule ";
  const std::string tcp = " iif eth0 ipproto tcp ";
  ip(rule + "add pref 1" + tcp + "dport " + own + " lookup local");
  ip(rule + "add pref 2" + tcp + "sport " + others + " lookup local");
  ip(rule + "add pref 3" + tcp + "blackhole");
  ip(rule + "add pref 10 lookup local");
  ip(rule + "del pref 0");
}

void NetworkNamespaces::cut(int host, int other) {
  const std::string rule = "-n " + name_of(host) + " rule ";
  ip(rule + "add pref 1 iif eth0 from " + address_of(other) + " blackhole");
  if (!are_cut_.insert(host).second) return;
  ip(rule + "add pref 10 lookup local");
  ip(rule + "del pref 0");
}

void NetworkNamespaces::mend(int host) {
  const std::string rule = "-n " + name_of(host) + " rule ";
  ip(rule + "add pref 0 lookup local");
  are_cut_.erase(host);
  while (why_not_.empty()) ip(rule + "del pref 1");  // the last one that fails found no rule
  why_not_.clear();
  ip(rule + "del pref 10");
}

std::string NetworkNamespaces::address_of(int host) const { return "10.99.0." + std::to_string(10 + host); }

std::vector<std::string> NetworkNamespaces::on(int host) const { return {"ip", "netns", "exec", name_of(host)}; }

std::string NetworkNamespaces::name_of(int host) const { return prefix_ + std::to_string(host); }

// The first command that fails says why; those after it are left out.
void NetworkNamespaces::ip(const std::string& arguments) {
  if (!why_not_.empty()) return;
  if (std::system(("ip " + arguments + " >/dev/null 2>&1").c_str()) != 0)
    why_not_ = "network namespaces cannot be made here: `ip " + arguments + "` fails";
}

}  // namespace shoal
