// The functions of libnccl.so.2 that sums use, resolved when they are wanted. Torch-free, without NVIDIA's headers.
//
// Declared by hand, so that every build has them: the layout of 2.17, which later versions of NCCL 2 accept. A test
// compares them with NVIDIA's header where that is installed. Where torch's CUDA part is loaded, the library is that
// one's: a process has one copy. Nothing here waits but ncclCommAbort, which ends the library's own threads.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

inline constexpr const char* kNcclFile = "libnccl.so.2";

// Answers of the library, as far as they are told apart.
inline constexpr int kNcclSuccess = 0;
inline constexpr int kNcclRemoteError = 6;
inline constexpr int kNcclInProgress = 7;
// Types of values, and the operation.
inline constexpr int kNcclInt64 = 4;
inline constexpr int kNcclFloat32 = 7;
inline constexpr int kNcclSum = 0;

struct NcclId {
  std::array<char, 128> bytes;
};

struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 21700;
  int blocking = 0;
  int cga_cluster_size = INT_MIN;  // this value: as the library likes it
  int ctas_min = INT_MIN;
  int ctas_max = INT_MIN;
  const char* network_name = nullptr;
};

// Fields have the library's names without their prefix. `comm` and `stream` are handles.
struct NcclFunctions {
  int (*get_version)(int* version) = nullptr;
  int (*get_unique_id)(NcclId* id) = nullptr;
  int (*comm_init_rank_config)(void** comm, int size, NcclId id, int rank, NcclConfig* config) = nullptr;
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int operation, void* comm,
                    void* stream) = nullptr;
  int (*comm_get_async_error)(void* comm, int* error) = nullptr;
  int (*comm_abort)(void* comm) = nullptr;
  const char* (*get_error_string)(int error) = nullptr;
  const char* (*get_last_error)(void* comm) = nullptr;
};

// Queues of host memory: NVIDIA's library has none. A library that exports them sums on processors, as that of the
// tests does (tests/support/nccl).
struct HostStreamFunctions {
  void* (*create)() = nullptr;
  int (*query)(void* stream) = nullptr;  // success, in progress, or an error
  void (*destroy)(void* stream) = nullptr;
};

struct NcclLibrary {
  NcclFunctions call;
  HostStreamFunctions host;  // all or none
  int version = 0;           // as in 22809

  [[nodiscard]] bool sums_host_memory() const { return host.create != nullptr; }
};

// E.g. "nccl 2.28.9": what members of one sum must have alike.
[[nodiscard]] std::string nccl_version_text(int version);

// Opens the library, never to close it. Errors: kUsage; it is missing, lacks a function, or is too old.
[[nodiscard]] Result<std::shared_ptr<const NcclLibrary>> open_nccl(const std::string& file = kNcclFile);

// A sentence about what a call answered, with the library's own words.
[[nodiscard]] std::string nccl_failure(const NcclLibrary& library, const std::string& call, int error, void* comm);

}  // namespace shoal
