// Address of a letter: a process, and an actor there. Routers find what an address leaves open: a replica's process by
// the journal, that of storage by its peers.
#pragma once

#include <cstdint>

#include "messages/ids.h"

namespace shoal {

enum class Role : std::uint8_t {
  kRouter,
  kSupervisor,
  kDataLoader,
  kSyncGroup,  // Address::incarnation unused: Address::stage says which
  kMetrics,
  kNodeAgent,
  kStage,  // Address::incarnation says which
  kStorage,
  kTracer,
  kControl,
};

// Names a receiver. Stages are found by incarnation, sync groups by stage; all others are one per process.
struct Address {
  ProcessIncarnation process;
  Role role = Role::kRouter;
  StageId stage;
  Incarnation incarnation;
  friend bool operator==(const Address&, const Address&) = default;
};

inline constexpr ProcessIncarnation kSpawnerProcess{0};

[[nodiscard]] inline Address to_supervisor() { return {kSpawnerProcess, Role::kSupervisor, {}, {}}; }
[[nodiscard]] inline Address to_data_loader() { return {kSpawnerProcess, Role::kDataLoader, {}, {}}; }
[[nodiscard]] inline Address to_metrics() { return {kSpawnerProcess, Role::kMetrics, {}, {}}; }
[[nodiscard]] inline Address to_sync_group(StageId stage) { return {kSpawnerProcess, Role::kSyncGroup, stage, {}}; }
[[nodiscard]] inline Address to_node_agent(ProcessIncarnation process) { return {process, Role::kNodeAgent, {}, {}}; }
[[nodiscard]] inline Address to_stage(ProcessIncarnation process, Incarnation replica) {
  return {process, Role::kStage, {}, replica};
}

}  // namespace shoal
