// Hosts of their own for a test: network namespaces that one switch connects, each with its own address.
//
//   switch namespace: bridge 10.99.0.1/24      host i: 10.99.0.(10 + i)/24 and its own loopback
//
// Needs root and iproute2. Everything is gone when the object is; its names carry the test's process id.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace shoal {

class NetworkNamespaces {
 public:
  explicit NetworkNamespaces(int host_count);
  ~NetworkNamespaces();
  NetworkNamespaces(const NetworkNamespaces&) = delete;
  NetworkNamespaces& operator=(const NetworkNamespaces&) = delete;

  // False where they cannot be made; the reason is in why_not().
  [[nodiscard]] bool are_there() const { return why_not_.empty(); }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  [[nodiscard]] std::string address_of(int host) const;
  // Lets the host hear TCP from elsewhere only at its ports `own`, and answers only from others' ports `others`;
  // both as "7000-7001". Inside the host everything passes.
  void close_all_but(int host, const std::string& own, const std::string& others);

  // Lets the host hear nothing of the other one from now on.
  void cut(int host, int other);
  // Lets the host hear all others again.
  void mend(int host);

  // Returns the words before a program's arguments that make it run on the host.
  [[nodiscard]] std::vector<std::string> on(int host) const;

 private:
  void connect(int host);
  [[nodiscard]] std::string name_of(int host) const;
  void ip(const std::string& arguments);

  std::string prefix_;
  int host_count_;
  std::set<int> are_cut_;
  std::string why_not_;
};

}  // namespace shoal
