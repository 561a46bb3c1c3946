// Fibers, barriers and shuffles; and the compiler's hooks, which tell of every access that a kernel makes.
#include "tests/support/cuda_shim/shim.h"

#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "tests/support/cuda_shim/accesses.h"
#include "tests/support/cuda_shim/cuda_runtime.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

// The program's memory: zero-initialised statics, shared memory among them, lie behind __bss_start.
extern "C" char __executable_start, __bss_start, _end;

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace shoal::shim {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kThreadsMax = 1024;
constexpr unsigned kBlocksAcross = 0x7FFFFFFF;                        // of a grid at most, in x
constexpr unsigned kBlocksDown = 65535;                               // in y, and in z
constexpr std::size_t kStackBytes = (std::size_t{128} << 10U) + 320;  // a power of two: all tops meet in one cache set
constexpr std::size_t kFindingsMax = 100;
constexpr std::size_t kAlignment = 256;  // as cudaMalloc's

constexpr int kKib = 1024;
constexpr std::size_t kSharedUnsaid = std::size_t{48} << 10U;  // a launch has so much of it without an attribute

int shared_kib_of_device = kSharedKib;
int shared_bytes_of_block() { return (shared_kib_of_device - 1) * kKib; }

bool is_launched(const dim3& grid) {
  const bool has_blocks = grid.x > 0 && grid.y > 0 && grid.z > 0;
  return has_blocks && grid.x <= kBlocksAcross && grid.y <= kBlocksDown && grid.z <= kBlocksDown;
}

// Lies behind __bss_start, as other shared memory does.
alignas(kAlignment) std::byte dynamic_shared[std::size_t{kSharedKibMost} * kKib];

enum class State { kReady, kAtBarrier, kInWarp, kEnded };

// A place on a stack, to go on from: by ucontext the first time, then by setjmp(). swapcontext() has the kernel set the
// mask of signals at each change, which took two thirds of the time of a kernel's test. AddressSanitizer clears what it
// knows of a stack at each longjmp(): its builds go on with swapcontext().
struct Place {
  std::unique_ptr<ucontext_t> context = std::make_unique<ucontext_t>();  // apart: large, and seldom looked at
#ifndef __SANITIZE_ADDRESS__
  jmp_buf jump;
  bool is_known = false;  // to setjmp()
#endif
};

// Leaves `from`, goes on at `to`, and returns when somebody goes on at `from`. A function of its own: nothing of a
// caller's may lie in registers that a jump does not restore.
[[gnu::noinline]] void change_stack(Place& from, Place& to) {
#ifdef __SANITIZE_ADDRESS__
  swapcontext(from.context.get(), to.context.get());
#else
  from.is_known = true;
  if (_setjmp(from.jump) != 0) return;
  if (to.is_known) _longjmp(to.jump, 1);
  setcontext(to.context.get());
#endif
}

// A copy into shared memory, which its thread may read when it has waited for it.
struct Copy {
  void* to;
  const void* from;
  std::size_t byte_count;
};

struct Fiber {
  Place place;
  bool is_begun = false;
  void* fake_stack = nullptr;  // of AddressSanitizer
  State state = State::kReady;
  dim3 index;
  unsigned mask = 0;
  std::uint64_t sent = 0;
  unsigned barriers_seen = 0;
  Moment moment;
  std::deque<std::vector<Copy>> parts = {};  // of copies that are under way; the last part is open
};

std::uintptr_t address_of(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

// Tells AddressSanitizer of a change of stacks; without it, nothing.
void leave_stack([[maybe_unused]] void** saved, [[maybe_unused]] const void* bottom,
                 [[maybe_unused]] std::size_t size) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(saved, bottom, size);
#endif
}
void arrive_on_stack([[maybe_unused]] void* saved) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(saved, nullptr, nullptr);
#endif
}

class Device {
 public:
  Device() : stacks_(new std::byte[kThreadsMax * kStackBytes]), fibers_(kThreadsMax) {
    pthread_attr_t attributes;
    void* bottom = nullptr;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &bottom, &host_stack_bytes_);
    pthread_attr_destroy(&attributes);
    host_stack_ = static_cast<std::byte*>(bottom);
  }

  void begin(const Plan& plan) {
    plan_ = plan;
    random_.seed(plan.seed);
    findings_.clear();
    barrier_count_ = 0;
  }

  cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || value > shared_bytes_of_block()) return cudaErrorInvalidValue;
    shared_of_kernels_[kernel] = static_cast<std::size_t>(value);
    return cudaSuccess;
  }

  cudaError_t run(const Launch& launch) {
    gridDim = launch.config.gridDim;
    blockDim = launch.config.blockDim;
    body_ = launch.body;
    arguments_ = launch.arguments;
    shared_bytes_ = launch.config.dynamicSmemBytes;
    thread_count_ = blockDim.x * blockDim.y * blockDim.z;
    accesses_.begin_launch();
    const unsigned block_count = gridDim.x * gridDim.y * gridDim.z;
    const unsigned lost = plan_.fault.kind == FaultKind::kLostBlock ? 1 : 0;
    const auto said = shared_of_kernels_.find(launch.kernel);
    const std::size_t most = std::max(kSharedUnsaid, said == shared_of_kernels_.end() ? 0 : said->second);
    if (thread_count_ > kThreadsMax) return refuse("a block of more than 1024 threads");
    if (!is_launched(gridDim)) return refuse("a grid that CUDA does not launch");
    if (shared_bytes_ > std::min<std::size_t>(most, static_cast<std::size_t>(shared_bytes_of_block()))) {
      return refuse("a launch with more shared memory than its kernel may have");
    }
    for (unsigned i = 0; i + lost < block_count; ++i) run_block(i);
    return cudaSuccess;
  }

  void copy_later(const Copy& copy) {
    if (current_->parts.empty()) current_->parts.emplace_back();
    current_->parts.back().push_back(copy);
  }
  void end_part() {
    if (current_->parts.empty()) current_->parts.emplace_back();
    current_->parts.emplace_back();
  }
  void wait_prior(std::size_t later) {
    auto& parts = current_->parts;
    for (; parts.size() > later + 1; parts.pop_front()) {
      for (const Copy& copy : parts.front()) {
        touch(copy.from, copy.byte_count, false);
        std::memcpy(copy.to, copy.from, copy.byte_count);
        touch(copy.to, copy.byte_count, true);
      }
    }
  }

  void stop_at_barrier() {
    Fiber& self = *current_;
    const unsigned number = self.barriers_seen++;
    barrier_count_ = std::max(barrier_count_, self.barriers_seen);
    if (plan_.fault.kind == FaultKind::kNoBarrier && plan_.fault.at == number) return;
    yield(State::kAtBarrier);
    ++self.moment.block_barriers;
  }

  std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned lane) {
    Fiber& self = *current_;
    self.sent = value;
    self.mask = mask;
    yield(State::kInWarp);
    return published_[self.moment.thread / kWarp * kWarp + lane];
  }

  void stop_in_warp(unsigned mask) {
    exchange(mask, 0, 0);
    ++current_->moment.warp_barriers;
  }

  // Called as a thread ends.
  void check_copies() {
    const bool has_all = std::ranges::all_of(current_->parts, [](const auto& part) { return part.empty(); });
    if (!has_all) find("a thread ended before copies that it had begun");
  }

  [[nodiscard]] unsigned lane() const { return current_->moment.thread % kWarp; }

  void touch(const void* at, std::size_t size, bool is_write) {
    if (current_ == nullptr) return;
    const Access access{address_of(at), size, is_write};
    if (is_inside(access.at, stacks_.get(), kThreadsMax * kStackBytes)) return;
    if (is_inside(access.at, host_stack_, host_stack_bytes_)) return;
    const bool is_shared = access.at >= address_of(&__bss_start) && access.at < address_of(&_end);
    const bool is_constant = access.at >= address_of(&__executable_start) && access.at < address_of(&__bss_start);
    if (is_constant || is_own(access.at)) return;
    const Moment now = current_->moment;
    const bool is_dynamic = is_inside(access.at, dynamic_shared, sizeof(dynamic_shared));
    if (is_dynamic && access.at + size > address_of(dynamic_shared) + shared_bytes_) {
      return find("an access to shared memory behind that of the launch");
    }
    const std::string wrong = is_shared ? accesses_.check_shared(access, now) : accesses_.check_global(access, now);
    if (!wrong.empty()) find(wrong);
  }

  void* allocate(std::size_t byte_count) {
    const std::size_t whole = (byte_count / kAlignment + 1) * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, whole);
    std::memset(memory, 0xCD, whole);
    accesses_.allow(address_of(memory), byte_count);
    return memory;
  }
  void free_allocated(void* memory) {
    accesses_.forbid(address_of(memory));
    std::free(memory);
  }

  [[nodiscard]] std::vector<std::string> findings() const { return {findings_.begin(), findings_.end()}; }
  [[nodiscard]] unsigned barrier_count() const { return barrier_count_; }

 private:
  static bool is_inside(std::uintptr_t at, const std::byte* begin, std::size_t size) {
    return at >= address_of(begin) && at < address_of(begin) + size;
  }
  // CUDA's variables: each thread has its own.
  static bool is_own(std::uintptr_t at) {
    const auto is_of = [at](const dim3& index) { return at >= address_of(&index) && at < address_of(&index + 1); };
    return is_of(threadIdx) || is_of(blockIdx) || is_of(blockDim) || is_of(gridDim);
  }

  void find(const std::string& what) {
    if (findings_.size() < kFindingsMax) findings_.insert(what);
  }
  cudaError_t refuse(const std::string& what) {
    find(what);
    return cudaErrorInvalidValue;
  }

  void run_block(unsigned number) {
    blockIdx = dim3(number % gridDim.x, number / gridDim.x % gridDim.y, number / gridDim.x / gridDim.y);
    for (unsigned thread = 0; thread < thread_count_; ++thread) prepare(thread, number);
    while (true) {
      const std::vector<unsigned> order = drawn_order();
      bool has_run = false;
      for (const unsigned thread : order) {
        if (fibers_[thread].state != State::kReady) continue;
        resume(fibers_[thread]);
        has_run = true;
      }
      if (has_run || release_warps()) continue;
      if (count(State::kEnded) == thread_count_) return;
      release_barrier();
    }
  }

  void prepare(unsigned thread, unsigned block) {
    Fiber& fiber = fibers_[thread];
    fiber.state = State::kReady;
    fiber.barriers_seen = 0;
    fiber.moment = {block, thread, 0, 0};
    fiber.parts.clear();
    const bool is_shifted = plan_.fault.kind == FaultKind::kShiftedThread && plan_.fault.at == thread;
    fiber.index = dim3(thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y);
    if (is_shifted) ++fiber.index.x;
    if (fiber.is_begun) return;
    fiber.is_begun = true;
    ucontext_t& context = *fiber.place.context;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_.get() + thread * kStackBytes;
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = nullptr;
    makecontext(&context, &Device::enter, 0);
  }

  // Runs one body after the other: a thread of each block.
  static void enter();

  void resume(Fiber& fiber) {
    current_ = &fiber;
    threadIdx = fiber.index;
    void* saved = nullptr;
    leave_stack(&saved, fiber.place.context->uc_stack.ss_sp, kStackBytes);
    change_stack(scheduler_, fiber.place);
    arrive_on_stack(saved);
    current_ = nullptr;
  }

  void yield(State state) {
    Fiber& self = *current_;
    self.state = state;
    leave_stack(&self.fake_stack, host_stack_, host_stack_bytes_);
    change_stack(self.place, scheduler_);
    arrive_on_stack(self.fake_stack);
  }

  std::vector<unsigned> drawn_order() {
    std::vector<unsigned> order(thread_count_);
    for (unsigned i = 0; i < thread_count_; ++i) order[i] = i;
    if (plan_.order == Order::kDownwards) std::ranges::reverse(order);
    if (plan_.order == Order::kShuffled) std::ranges::shuffle(order, random_);
    return order;
  }

  [[nodiscard]] unsigned count(State state) const {
    const auto is_so = [state](const Fiber& fiber) { return fiber.state == state; };
    return static_cast<unsigned>(std::count_if(fibers_.begin(), fibers_.begin() + thread_count_, is_so));
  }

  // Lets every warp go on whose threads all wait for each other.
  bool release_warps() {
    bool has_released = false;
    for (unsigned begin = 0; begin < thread_count_; begin += kWarp) {
      const unsigned end = std::min(begin + kWarp, thread_count_);
      unsigned wanted = 0, there = 0, gone = 0;
      for (unsigned i = begin; i < end; ++i) {
        const unsigned bit = 1U << (i - begin);
        if (fibers_[i].state == State::kInWarp) wanted |= fibers_[i].mask, there |= bit;
        if (fibers_[i].state == State::kEnded) gone |= bit;
      }
      if (there == 0) continue;
      if (((there | gone) & wanted) != wanted) continue;  // the others are at a barrier: nobody goes on
      if ((there & wanted) != wanted) find("a shuffle names lanes that have ended");
      for (unsigned i = begin; i < end; ++i) {
        published_[i] = fibers_[i].sent;
        if (fibers_[i].state == State::kInWarp) fibers_[i].state = State::kReady;
      }
      has_released = true;
    }
    return has_released;
  }

  void release_barrier() {
    if (count(State::kEnded) > 0) find("a thread ended while others wait at a barrier");
    if (count(State::kInWarp) > 0) find("a shuffle waits for threads that wait at a barrier, or are not there");
    for (unsigned i = 0; i < thread_count_; ++i) {
      if (fibers_[i].state != State::kEnded) fibers_[i].state = State::kReady;
    }
  }

  std::unique_ptr<std::byte[]> stacks_;
  std::byte* host_stack_ = nullptr;
  std::size_t host_stack_bytes_ = 0;
  std::vector<Fiber> fibers_;
  std::uint64_t published_[kThreadsMax] = {};
  Place scheduler_;
  Fiber* current_ = nullptr;
  Body body_ = nullptr;
  const void* arguments_ = nullptr;
  unsigned thread_count_ = 0;
  Plan plan_;
  std::mt19937 random_;
  std::set<std::string> findings_;
  unsigned barrier_count_ = 0;
  Accesses accesses_;
  std::map<const void*, std::size_t> shared_of_kernels_;  // which they may have, as was said
  std::size_t shared_bytes_ = 0;                          // of a block of this launch
};

Device& device() {
  static Device& device = *new Device;
  return device;
}

void Device::enter() {
  arrive_on_stack(nullptr);
  Device& self = device();
  while (true) {
    self.body_(self.arguments_);
    self.check_copies();
    self.yield(State::kEnded);
  }
}

}  // namespace

void begin(const Plan& plan) { device().begin(plan); }
std::vector<std::string> findings() { return device().findings(); }
unsigned barrier_count() { return device().barrier_count(); }
void* allocate(std::size_t byte_count) { return device().allocate(byte_count); }
void free_allocated(void* memory) { device().free_allocated(memory); }

void set_shared_kib(int kib) { shared_kib_of_device = kib; }

bool checks_accesses() {
#ifdef SHOAL_SHIM_CHECKS_ACCESSES
  return true;
#else
  return false;
#endif
}

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return device().set_attribute(kernel, attribute, value);
}
cudaError_t run(const Launch& launch) { return device().run(launch); }
void* dynamic_shared_memory() { return dynamic_shared; }
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned lane) {
  return device().exchange(mask, value, lane);
}
unsigned lane_of_this_thread() { return device().lane(); }

}  // namespace shoal::shim

void __pipeline_memcpy_async(void* shared, const void* from, std::size_t byte_count) {
  shoal::shim::device().copy_later({shared, from, byte_count});
}
void __pipeline_commit() { shoal::shim::device().end_part(); }
void __pipeline_wait_prior(std::size_t later) { shoal::shim::device().wait_prior(later); }

void __syncthreads() { shoal::shim::device().stop_at_barrier(); }
void __syncwarp(unsigned mask) { shoal::shim::device().stop_in_warp(mask); }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int /*device*/) {
  using namespace shoal::shim;
  switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = shared_kib_of_device * kKib; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = shared_bytes_of_block(); break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = kKib; break;
  }
  return cudaSuccess;
}

unsigned atomicOr(unsigned* at, unsigned bits) {
  const unsigned before = *at;
  *at |= bits;
  return before;
}
unsigned atomicMax(unsigned* at, unsigned value) {
  const unsigned before = *at;
  *at = std::max(before, value);
  return before;
}
unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>((static_cast<Wide>(a) * b) >> 64U);
}

#ifdef SHOAL_SHIM_CHECKS_ACCESSES
// The functions that -fsanitize=thread calls, by their fixed names.
#define SHOAL_ACCESSES_OF(size)                                                                \
  void __tsan_read##size(void* at) { shoal::shim::device().touch(at, size, false); }           \
  void __tsan_write##size(void* at) { shoal::shim::device().touch(at, size, true); }           \
  void __tsan_unaligned_read##size(void* at) { shoal::shim::device().touch(at, size, false); } \
  void __tsan_unaligned_write##size(void* at) { shoal::shim::device().touch(at, size, true); }
extern "C" {
SHOAL_ACCESSES_OF(1)
SHOAL_ACCESSES_OF(2)
SHOAL_ACCESSES_OF(4)
SHOAL_ACCESSES_OF(8)
SHOAL_ACCESSES_OF(16)
void __tsan_read_range(void* at, std::size_t size) { shoal::shim::device().touch(at, size, false); }
void __tsan_write_range(void* at, std::size_t size) { shoal::shim::device().touch(at, size, true); }
void __tsan_vptr_update(void* /*at*/, void* /*to*/) {}
void __tsan_vptr_read(void* /*at*/) {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}
#endif
