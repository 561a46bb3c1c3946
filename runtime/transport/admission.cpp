// Counts per address are kept beside the entries, so that admitting a connection costs no walk over all of them.
#include "runtime/transport/admission.h"

#include <algorithm>
#include <utility>

namespace shoal {

Admission HalfOpenTable::admit(int descriptor, const std::string& address, SteadyTime now) {
  settle(descriptor);
  if (incoming_count_ >= limits_.half_open_count_max) return Admission::kTooMany;
  if (count_of(address) >= limits_.half_open_per_address_max) return Admission::kTooManyOfAddress;
  entries_[descriptor] = Entry{address, now};
  ++count_of_address_[address];
  ++incoming_count_;
  return Admission::kAdmitted;
}

std::optional<int> HalfOpenTable::who_gives_way(const std::string& address, SteadyTime now,
                                                const HasSpoken& has_spoken) const {
  const bool is_full_of_address = count_of(address) >= limits_.half_open_per_address_max;
  if (!is_full_of_address && incoming_count_ < limits_.half_open_count_max) return std::nullopt;
  std::vector<std::pair<SteadyTime, int>> oldest_first;
  for (const auto& [descriptor, entry] : entries_) {
    const bool may_be = is_full_of_address ? entry.address == address : !entry.address.empty();
    if (may_be) oldest_first.emplace_back(entry.since, descriptor);
  }
  std::sort(oldest_first.begin(), oldest_first.end());
  for (const auto& [since, descriptor] : oldest_first)
    if (!has_spoken(descriptor)) return descriptor;
  const bool is_slow = !oldest_first.empty() && now - oldest_first.front().first >= limits_.handshake_timeout / 4;
  return is_slow ? std::optional(oldest_first.front().second) : std::nullopt;
}

HalfOpenTable::Verdict HalfOpenTable::enter(int descriptor, const Entry& incoming, SteadyTime now,
                                            const HasSpoken& has_spoken) {
  Verdict verdict;
  verdict.gives_way = who_gives_way(incoming.address, now, has_spoken);
  if (verdict.gives_way) settle(*verdict.gives_way);
  verdict.admission = admit(descriptor, incoming.address, incoming.since);
  return verdict;
}

HalfOpenTable::Verdict HalfOpenTable::enter(int descriptor, const Entry& incoming, SteadyTime now) {
  return enter(descriptor, incoming, now, [](int) { return true; });
}

std::size_t HalfOpenTable::count_of(const std::string& address) const {
  const auto counted = count_of_address_.find(address);
  return counted == count_of_address_.end() ? 0 : counted->second;
}

void HalfOpenTable::track_outgoing(int descriptor, SteadyTime now) {
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

std::vector<int> HalfOpenTable::expired(SteadyTime now) const {
  std::vector<std::pair<SteadyTime, int>> found;
  for (const auto& [descriptor, entry] : entries_) {
    if (now - entry.since >= limits_.handshake_timeout) found.emplace_back(entry.since, descriptor);
  }
  std::sort(found.begin(), found.end());
  std::vector<int> descriptors;
  descriptors.reserve(found.size());
  for (const auto& [since, descriptor] : found) descriptors.push_back(descriptor);
  return descriptors;
}

PortAdmission::Verdict PortAdmission::arrived(int descriptor, const std::string& address, SteadyTime now,
                                              const HalfOpenTable::HasSpoken& has_spoken) {
  settle(descriptor);
  return silent_.enter(descriptor, {address, now}, now, has_spoken);
}

PortAdmission::Verdict PortAdmission::said_hello(int descriptor, PortProtocol protocol, SteadyTime now) {
  const auto waiting = silent_.take(descriptor);
  if (!waiting) return {};  // it has given way, and is being closed
  HalfOpenTable& table = protocol == PortProtocol::kLane ? lanes_ : links_;
  return table.enter(descriptor, *waiting, now);
}

void PortAdmission::settle(int descriptor) {
  for (HalfOpenTable* table : {&silent_, &links_, &lanes_}) table->settle(descriptor);
}

std::vector<int> PortAdmission::expired(SteadyTime now) const {
  std::vector<int> found;
  for (const HalfOpenTable* table : {&silent_, &links_, &lanes_}) {
    const auto of_table = table->expired(now);
    found.insert(found.end(), of_table.begin(), of_table.end());
  }
  return found;
}

RefusalLog::Line RefusalLog::refused(SteadyTime now) {
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

}  // namespace shoal
