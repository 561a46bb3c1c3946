// Names of symbols stand here alone.
#include "runtime/device/nccl/nccl_library.h"

#include <dlfcn.h>

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr int kOldest = 21700;     // blocking = 0 and the configuration's layout
constexpr int kNextMajor = 30000;  // may change both

class Symbols {
 public:
  explicit Symbols(void* module) : module_(module) {}

  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(module_, name));
    if (function == nullptr && lacking_.empty()) lacking_ = name;
  }
  [[nodiscard]] const std::string& lacking() const { return lacking_; }

 private:
  void* module_;
  std::string lacking_;
};

[[nodiscard]] std::string find_functions(void* module, NcclFunctions& call) {
  Symbols symbols(module);
  symbols.find("ncclGetVersion", call.get_version);
  symbols.find("ncclGetUniqueId", call.get_unique_id);
  symbols.find("ncclCommInitRankConfig", call.comm_init_rank_config);
  symbols.find("ncclAllReduce", call.all_reduce);
  symbols.find("ncclCommGetAsyncError", call.comm_get_async_error);
  symbols.find("ncclCommAbort", call.comm_abort);
  symbols.find("ncclGetErrorString", call.get_error_string);
  symbols.find("ncclGetLastError", call.get_last_error);
  return symbols.lacking();
}

void find_host_streams(void* module, HostStreamFunctions& host) {
  Symbols symbols(module);
  symbols.find("shoal_host_stream_create", host.create);
  symbols.find("shoal_host_stream_query", host.query);
  symbols.find("shoal_host_stream_destroy", host.destroy);
  if (!symbols.lacking().empty()) host = {};
}

}  // namespace

std::string nccl_version_text(int version) {
  return compose("nccl ", version / 10000, ".", version % 10000 / 100, ".", version % 100);
}

Result<std::shared_ptr<const NcclLibrary>> open_nccl(const std::string& file) {
  void* const module = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (module == nullptr) {
    return fail(Error::kUsage, compose("NCCL cannot be loaded: ", ::dlerror(),
                                       ". It comes with PyTorch for CUDA, and with the CUDA toolkit"));
  }
  auto library = std::make_shared<NcclLibrary>();
  if (const auto lacking = find_functions(module, library->call); !lacking.empty()) {
    return fail(Error::kUsage, compose(file, " is no NCCL, or one that is too old: it has no ", lacking));
  }
  find_host_streams(module, library->host);
  const int answer = library->call.get_version(&library->version);
  if (answer != kNcclSuccess) {
    return fail(Error::kUsage, nccl_failure(*library, "ncclGetVersion", answer, nullptr));
  }
  if (library->version < kOldest || library->version >= kNextMajor) {
    return fail(Error::kUsage,
                compose(file, " is ", nccl_version_text(library->version), "; NCCL 2.17 or a later 2 is needed"));
  }
  return std::shared_ptr<const NcclLibrary>(std::move(library));
}

std::string nccl_failure(const NcclLibrary& library, const std::string& call, int error, void* comm) {
  const char* const words = library.call.get_error_string(error);
  const char* const more = library.call.get_last_error(comm);
  std::string text = compose(call, ": ", words == nullptr ? "error" : words, " (", error, ")");
  if (more != nullptr && *more != '\0') text += compose(", ", more);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace shoal
