// Counts per address are kept beside the entries, so that admitting a connection costs no walk over all of them.
#include "runtime/transport/admission.h"

#include <algorithm>
#include <utility>

namespace shoal {

std::optional<int> HalfOpenTable::enter(int descriptor, const Entry& incoming) {
  settle(descriptor);
  const auto gives_way = who_gives_way(incoming.address);
  if (gives_way) settle(*gives_way);
  entries_[descriptor] = incoming;
  ++count_of_address_[incoming.address];
  ++incoming_count_;
  return gives_way;
}

std::optional<int> HalfOpenTable::who_gives_way(const std::string& address) const {
  const bool is_full_of_address = count_of(address) >= limits_.half_open_per_address_max;
  if (!is_full_of_address && incoming_count_ < limits_.half_open_count_max) return std::nullopt;
  std::size_t most = 0;
  for (const auto& [each, count] : count_of_address_) most = std::max(most, count);
  const auto may_be = [&](const Entry& entry) {
    if (is_full_of_address) return entry.address == address;
    return !entry.address.empty() && count_of(entry.address) == most;
  };
  std::optional<std::pair<Instant, int>> oldest;
  for (const auto& [descriptor, entry] : entries_) {
    const std::pair one(entry.since, descriptor);
    if (may_be(entry) && (!oldest || one < *oldest)) oldest = one;
  }
  return oldest ? std::optional(oldest->second) : std::nullopt;
}

std::size_t HalfOpenTable::count_of(const std::string& address) const {
  const auto counted = count_of_address_.find(address);
  return counted == count_of_address_.end() ? 0 : counted->second;
}

void HalfOpenTable::track_outgoing(int descriptor, Instant now) {
  settle(descriptor);
  entries_[descriptor] = Entry{std::string(), now};
}

void HalfOpenTable::settle(int descriptor) {
  const auto entry = entries_.find(descriptor);
  if (entry == entries_.end()) return;
  const auto counted = count_of_address_.find(entry->second.address);
  if (counted != count_of_address_.end()) {
    --incoming_count_;
    if (--counted->second == 0) count_of_address_.erase(counted);
  }
  entries_.erase(entry);
}

std::optional<HalfOpenTable::Entry> HalfOpenTable::take(int descriptor) {
  const auto found = entries_.find(descriptor);
  if (found == entries_.end()) return std::nullopt;
  Entry entry = found->second;
  settle(descriptor);
  return entry;
}

std::vector<int> HalfOpenTable::expired(Instant now) const {
  std::vector<std::pair<Instant, int>> found;
  for (const auto& [descriptor, entry] : entries_) {
    if (now - entry.since >= limits_.handshake_timeout) found.emplace_back(entry.since, descriptor);
  }
  std::sort(found.begin(), found.end());
  std::vector<int> descriptors;
  descriptors.reserve(found.size());
  for (const auto& [since, descriptor] : found) descriptors.push_back(descriptor);
  return descriptors;
}

std::optional<int> PortAdmission::arrived(int descriptor, const std::string& address, Instant now) {
  settle(descriptor);
  return silent_.enter(descriptor, {address, now});
}

std::optional<int> PortAdmission::said_hello(int descriptor, PortProtocol protocol) {
  const auto waiting = silent_.take(descriptor);
  if (!waiting) return std::nullopt;  // the connection has given way, and is being closed
  HalfOpenTable& table = protocol == PortProtocol::kLane ? lanes_ : links_;
  return table.enter(descriptor, *waiting);
}

void PortAdmission::settle(int descriptor) {
  for (HalfOpenTable* table : {&silent_, &links_, &lanes_}) table->settle(descriptor);
}

std::vector<int> PortAdmission::expired(Instant now) const {
  std::vector<int> found;
  for (const HalfOpenTable* table : {&silent_, &links_, &lanes_}) {
    const auto of_table = table->expired(now);
    found.insert(found.end(), of_table.begin(), of_table.end());
  }
  return found;
}

RefusalLog::Line RefusalLog::refused(Instant now) {
  ++total_;
  Line line;
  if (total_ == 1 || now - window_start_ >= kWindow) {
    window_start_ = now;
    in_window_ = 0;
    line.left_out = std::exchange(left_out_, 0);
  }
  line.write = ++in_window_ <= kLinesPerWindow;
  if (!line.write) ++left_out_;
  return line;
}

bool LackLog::met(Instant now) {
  const bool is_new = !last_ || now - *last_ >= kQuiet;
  last_ = now;
  return is_new;
}

}  // namespace shoal
