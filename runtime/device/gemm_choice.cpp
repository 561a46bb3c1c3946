// Answers the question that torch's BLAS asks about the processor, and says what the answer was.
#include "runtime/device/gemm_choice.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <string_view>

#include <ATen/Version.h>
#include <ATen/core/TensorBase.h>
#include <torch/headeronly/version.h>

#include "runtime/base/compose.h"
#include "runtime/base/machine/bf16_units.h"

// The question torch's BLAS asks before it chooses kernels. Its own answer is about the maker, not about instructions.
extern "C" int mkl_serv_intel_cpu_true();

namespace shoal {
namespace {

bool has_fast_path_instructions() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

bool is_intel() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

bool forces_fast_path() {
  static const bool forced = [] {
    const char* wish = std::getenv("SHOAL_GEMM");
    const bool wants_default = wish != nullptr && std::string_view(wish) == "default";
    return !wants_default && !is_intel() && has_fast_path_instructions();
  }();
  return forced;
}

// True when torch asks our answer: the linker must have put it into the program's dynamic table.
bool is_our_answer_heard() {
  return ::dlsym(RTLD_DEFAULT, "mkl_serv_intel_cpu_true") == reinterpret_cast<void*>(&mkl_serv_intel_cpu_true);
}

std::string instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0) return "avx512";
  if (has_fast_path_instructions()) return "avx2";
#endif
  return "baseline";
}

}  // namespace

void prepare_process_for_compute() {
  // Activations of some megabytes come and go with every microbatch: keep their pages instead of faulting them in anew.
  static const bool prepared = [] {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    // A stage that starts again runs on another thread: in an arena of its own it would take all its pages anew.
    mallopt(M_ARENA_MAX, 1);
    return forces_fast_path();
  }();
  static_cast<void>(prepared);
}

void give_memory_back() {
  using Free = void (*)();
  static const auto free_buffers = reinterpret_cast<Free>(::dlsym(RTLD_DEFAULT, "mkl_serv_free_buffers"));
  if (free_buffers != nullptr) free_buffers();
  ::malloc_trim(0);
}

std::string kernel_fingerprint(int threads) {
  const char* path = forces_fast_path() && is_our_answer_heard() ? "mkl fast path (forced)" : "mkl own choice";
  return compose("torch ", TORCH_VERSION, "; gemm ", path, ", ", instruction_set(), "; vector ",
                 at::get_cpu_capability(), "; bf16 ", bf16_units(), "; threads ", threads);
}

}  // namespace shoal

extern "C" int mkl_serv_intel_cpu_true() { return (shoal::is_intel() || shoal::forces_fast_path()) ? 1 : 0; }
