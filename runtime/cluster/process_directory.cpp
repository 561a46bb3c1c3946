// Records of lost processes are kept (a few hundred bytes each) while they name replicas; the last 1000 of them at
// most.
#include "runtime/cluster/process_directory.h"

#include <algorithm>

#include "runtime/base/bound.h"
#include "runtime/base/compose.h"
#include "runtime/base/machine/bf16_units.h"

namespace shoal {

namespace {

const Bound kLostMax{"supervision.lost_processes_remembered", 1000};

[[nodiscard]] std::string refusal_of_kernels(const std::string& difference) {
  return difference +
         "; exact mode promises equal bits only on equal kernels: set sync.allow_mixed_kernels to accept it";
}

}  // namespace

std::variant<Admitted, NotAdmitted> ProcessDirectory::admit(const Join& join, ProcessIncarnation next,
                                                            Standing standing) {
  Admitted admitted{next, true, std::nullopt, {}};
  for (const auto& [process, record] : processes_) {
    if (!record.is_alive) continue;
    if (record.join.nonce == join.nonce) return Admitted{process, false, std::nullopt, {}};
    if (record.join.name == join.name && record.join.device_index == join.device_index) {
      const bool was_it = join.previous == process && process.value != 0;
      if (!was_it && record.is_linked) {
        return NotAdmitted{JoinRefusal::kNameTaken,
                           compose("the name '", join.name, "' is taken by a live process (pid ", record.join.pid,
                                   " at ", record.join.endpoint.host, "); choose another with --name"),
                           process};
      }
      admitted.replaces = process;
    }
  }
  admitted.warning = difference_in_kernels(join, standing);
  if (rule_ == FingerprintRule::kMustAgree && !admitted.warning.empty()) {
    return NotAdmitted{JoinRefusal::kMixedKernels, refusal_of_kernels(admitted.warning), std::nullopt};
  }
  processes_[next] = ProcessRecord{join};
  if (awaited_) awaited_->erase(next);
  return admitted;
}

void ProcessDirectory::await(const std::vector<Peer>& on_record) {
  awaited_.emplace();
  for (const Peer& peer : on_record) awaited_->insert_or_assign(peer.process, peer);
}

bool ProcessDirectory::may_come_back(const Join& join) const {
  if (!awaited_) return true;
  const auto known = awaited_->find(join.previous);
  return known != awaited_->end() && known->second.role == join.role && known->second.name == join.name;
}

std::vector<Peer> ProcessDirectory::awaited() const {
  std::vector<Peer> found;
  if (!awaited_) return found;
  const bool has_storage = !alive(ProcessRole::kStorage).empty();
  for (const auto& [process, peer] : *awaited_) {
    if (peer.role != ProcessRole::kStorage || !has_storage) found.push_back(peer);
  }
  return found;
}

std::string ProcessDirectory::difference_in_kernels(const Join& join, Standing standing) const {
  if (join.role != ProcessRole::kNode) return {};
  const std::string own = kernels_used(join.fingerprint.text, precision_);
  const auto difference = [&](const std::string& whose, const std::string& kernels) {
    return compose("kernels of '", join.name, "' (", own, ") differ from those ", whose, " (", kernels, ")");
  };
  if (kernels_) {
    const std::string of_run = kernels_used(*kernels_, precision_);
    return of_run == own ? std::string() : difference("with which the run has trained", of_run);
  }
  if (standing == Standing::kMember) return {};
  for (const auto& [process, record] : processes_) {
    if (!record.is_alive || record.join.role != ProcessRole::kNode) continue;
    const std::string other = kernels_used(record.join.fingerprint.text, precision_);
    if (other != own) return difference(compose("of '", record.join.name, "', which is here"), other);
  }
  return {};
}

bool ProcessDirectory::trains(ProcessIncarnation process) {
  const ProcessRecord* record = find(process);
  if (record == nullptr || kernels_) return false;
  kernels_ = record->join.fingerprint.text;
  return true;
}

std::vector<UnlikeWorker> ProcessDirectory::unlike() const {
  std::vector<UnlikeWorker> found;
  if (rule_ != FingerprintRule::kMustAgree || !kernels_) return found;
  for (const auto& [process, record] : processes_) {
    const std::string difference = difference_in_kernels(record.join, Standing::kNewcomer);
    if (record.is_alive && !difference.empty()) found.push_back({process, refusal_of_kernels(difference)});
  }
  return found;
}

bool ProcessDirectory::lose(ProcessIncarnation process, const std::string& why) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || !found->second.is_alive) return false;
  found->second.is_alive = false;
  found->second.lost_why = why;
  std::size_t lost = 0;
  for (const auto& [incarnation, record] : processes_) lost += record.is_alive ? 0 : 1;
  for (auto oldest = processes_.begin(); kLostMax.is_exceeded_by(lost) && oldest != processes_.end();) {
    if (oldest->second.is_alive) {
      ++oldest;
    } else {
      oldest = processes_.erase(oldest);
      --lost;
    }
  }
  return true;
}

void ProcessDirectory::evict(ProcessIncarnation process) {
  const auto found = processes_.find(process);
  if (found != processes_.end()) found->second.is_evicted = true;
}

void ProcessDirectory::leave(ProcessIncarnation process) {
  const auto found = processes_.find(process);
  if (found != processes_.end()) found->second.has_left = true;
}

void ProcessDirectory::set_linked(ProcessIncarnation process, bool is_linked) {
  const auto found = processes_.find(process);
  if (found != processes_.end()) found->second.is_linked = is_linked;
}

void ProcessDirectory::note_use(ProcessIncarnation process, const DeviceUse& use) {
  const auto found = processes_.find(process);
  if (found != processes_.end()) found->second.use = use;
}

const ProcessRecord* ProcessDirectory::find(ProcessIncarnation process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? nullptr : &found->second;
}

bool ProcessDirectory::is_alive(ProcessIncarnation process) const {
  const ProcessRecord* record = find(process);
  return record != nullptr && record->is_alive;
}

std::string name_of_process(const std::string& node, std::uint32_t device_index) {
  return device_index == 0 ? node : compose(node, ":", device_index);
}

std::string ProcessDirectory::name_of(ProcessIncarnation process) const {
  const ProcessRecord* record = find(process);
  if (record == nullptr) return compose("process ", process);
  return name_of_process(record->join.name, record->join.device_index);
}

std::uint32_t ProcessDirectory::lives_before(ProcessIncarnation process) const {
  std::uint32_t lives = 0;
  for (const auto& [earlier, record] : processes_) {
    if (earlier < process && name_of(earlier) == name_of(process)) ++lives;
  }
  return lives;
}

bool ProcessDirectory::has_lost(std::string_view name) const {
  bool has_joined = false;
  for (const auto& [process, record] : processes_) {
    if (name_of(process) != name) continue;
    if (record.is_alive) return false;
    has_joined = true;
  }
  return has_joined;
}

// An evicted node is out with all of its devices, and one that was drained may have been a single device.
ProcessDirectory::KeeperEnds ProcessDirectory::is_keeper_to_end(ProcessIncarnation process) const {
  const ProcessRecord* own = find(process);
  if (own == nullptr || own->join.role != ProcessRole::kNode || keeper_of(own->join) == 0) return KeeperEnds::kNo;
  KeeperEnds ends = KeeperEnds::kNo;
  for (const auto& [other, record] : processes_) {
    const Join& join = record.join;
    if (record.is_alive || join.name != own->join.name || keeper_of(join) != keeper_of(own->join)) continue;
    if (record.is_evicted) return KeeperEnds::kByEviction;
    if (record.has_left && join.device_index == own->join.device_index) ends = KeeperEnds::kByDrain;
  }
  return ends;
}

std::vector<const ProcessRecord*> ProcessDirectory::newest() const {
  std::map<std::pair<std::string_view, std::uint32_t>, const ProcessRecord*> by_device;  // numbers ascend
  for (const auto& [process, record] : processes_) {
    if (record.join.role == ProcessRole::kNode) by_device[{record.join.name, record.join.device_index}] = &record;
  }
  std::vector<const ProcessRecord*> records;
  for (const auto& [device, record] : by_device) records.push_back(record);
  return records;
}

std::vector<const ProcessRecord*> ProcessDirectory::lost_newest() const {
  std::vector<const ProcessRecord*> lost = newest();
  std::erase_if(lost,
                [](const ProcessRecord* record) { return record->is_alive || record->is_evicted || record->has_left; });
  return lost;
}

// An evicted node is out with all of its devices. Only what its newest keeper started counts: one before it may have
// had more devices.
std::optional<Departure> ProcessDirectory::departed(std::string_view name) const {
  std::vector<const ProcessRecord*> named = newest();
  std::erase_if(named, [&](const ProcessRecord* record) {
    return record->join.name != name && name_of_process(record->join.name, record->join.device_index) != name;
  });
  const ProcessRecord* last = nullptr;  // to join
  for (const auto& [process, record] : processes_) {
    if (std::ranges::find(named, &record) != named.end()) last = &record;
  }
  if (last == nullptr) return std::nullopt;
  std::erase_if(named,
                [last](const ProcessRecord* record) { return keeper_of(record->join) != keeper_of(last->join); });
  const bool is_gone = std::ranges::none_of(named, &ProcessRecord::is_alive);
  if (is_gone && std::ranges::any_of(named, &ProcessRecord::is_evicted)) return kWasEvicted;
  if (is_gone && std::ranges::all_of(named, &ProcessRecord::has_left)) return kLeft;
  return std::nullopt;
}

std::vector<std::string> ProcessDirectory::coming_back(std::string_view name) const {
  std::vector<std::string> names;
  for (const ProcessRecord* record : lost_newest()) {
    std::string device = name_of_process(record->join.name, record->join.device_index);
    if (record->join.name == name || device == name) names.push_back(std::move(device));
  }
  return names;
}

std::vector<LostWorker> ProcessDirectory::lost_workers() const {
  std::vector<LostWorker> workers;
  for (const ProcessRecord* record : lost_newest()) {
    workers.push_back({name_of_process(record->join.name, record->join.device_index), record->lost_why});
  }
  return workers;
}

std::vector<ProcessIncarnation> ProcessDirectory::alive() const {
  std::vector<ProcessIncarnation> found;
  for (const auto& [process, record] : processes_) {
    if (record.is_alive) found.push_back(process);
  }
  return found;
}

std::vector<ProcessIncarnation> ProcessDirectory::alive(ProcessRole role) const {
  std::vector<ProcessIncarnation> found;
  for (const auto& [process, record] : processes_) {
    if (record.is_alive && record.join.role == role) found.push_back(process);
  }
  return found;
}

std::vector<ProcessIncarnation> ProcessDirectory::alive(std::string_view node) const {
  std::vector<ProcessIncarnation> found = alive(ProcessRole::kNode);
  std::erase_if(found, [&](ProcessIncarnation process) { return processes_.at(process).join.name != node; });
  return found;
}

std::vector<Peer> ProcessDirectory::peers() const {
  std::vector<Peer> found;
  for (const auto& [process, record] : processes_) {
    if (record.is_alive) found.push_back({process, record.join.role, record.join.name, record.join.endpoint});
  }
  return found;
}

}  // namespace shoal
