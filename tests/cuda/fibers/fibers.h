/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs kernels on the CPU: each thread of a block of threads is a fiber, which runs until it waits
 * for others at __syncthreads() or in a shuffle. Blocks of threads run one after the other. It
 * shows whether the arithmetic and the barriers of a kernel are right, not races on memory.
 */
#ifndef TESTS_CUDA_FIBERS_H
#define TESTS_CUDA_FIBERS_H

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __CUDACC__    1
#define __CUDA_ARCH__ 900 /* the branches of headers that are for the device */

struct FiberIndex {
  uint32_t x, y;
};
inline FiberIndex threadIdx, blockIdx, blockDim;

namespace fibers {

constexpr uint32_t kMost = 1024, kWarp = 32, kStack = 65536;

struct Fiber {
  jmp_buf here; /* where it waits */
  char stack[kStack];
  bool done;
};

/* Threads that wait for each other. */
struct Barrier {
  uint64_t epoch;
  uint32_t arrived;
};

inline Fiber *all;
inline jmp_buf scheduler;
inline uint32_t count, running;
inline uint32_t self; /* the number of the present thread in its block */
inline Barrier block, warps[kMost / kWarp];
inline unsigned char values[kMost][16]; /* of a shuffle */
inline std::function<void()> kernel;

/* Makes a thread of the block the present one. */
inline void be(uint32_t thread)
{
  self = thread;
  threadIdx = {thread % blockDim.x, thread / blockDim.x};
}

/* Lets other fibers run. Jumps, other than swapcontext(), are no system calls. */
inline void yield()
{
  if (!_setjmp(all[self].here))
    _longjmp(scheduler, 1);
}

/* Makes a thread of the block the present one, until it waits. */
inline void resume(uint32_t thread)
{
  be(thread);
  if (!_setjmp(scheduler))
    _longjmp(all[thread].here, 1);
}

inline void wait(Barrier *barrier, uint32_t threads)
{
  uint64_t epoch = barrier->epoch;

  if (++barrier->arrived == threads) {
    barrier->arrived = 0;
    barrier->epoch++;
  }
  while (barrier->epoch == epoch)
    yield();
}

inline void wait_for_warp()
{
  wait(&warps[self / kWarp], kWarp);
}

/* What a fiber does: the thread of its number in one block of threads after the other. */
inline ucontext_t creator;
inline void run_threads()
{
  if (!_setjmp(all[self].here))
    setcontext(&creator);
  for (;;) {
    kernel();
    all[self].done = true;
    running--;
    yield();
  }
}

inline void create_fibers()
{
  all = static_cast<Fiber *>(calloc(kMost, sizeof *all));
  for (self = 0; self < kMost; self++) {
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = all[self].stack;
    context.uc_stack.ss_size = kStack;
    makecontext(&context, run_threads, 0);
    swapcontext(&creator, &context);
  }
}

/* Lets each thread that is not done run up to where it waits, the last one first half of the time.
 */
inline void run_all()
{
  bool back = rand() & 1;

  for (uint32_t i = 0; i < count; i++) {
    uint32_t thread = back ? count - 1 - i : i;
    if (!all[thread].done)
      resume(thread);
  }
}

/* What a kernel declares as extern __shared__; its size is that of the present launch. */
constexpr uint32_t kShared = 256 * 1024;
inline unsigned char shared[kShared] __attribute__((aligned(16)));
inline uint32_t shared_size;

/* Shared memory from an address on, which must be aligned to `size` bytes and inside it. */
inline unsigned char *shared_at(uint32_t address, uint32_t size)
{
  if (address % size || address + size > shared_size) {
    fprintf(stderr, "thread %u: %u bytes of shared memory at %u of %u\n", self, size, address,
            shared_size);
    abort();
  }
  return shared + address;
}

/* Copies to shared memory that each thread has begun, in groups, the last of which is open. They
 * arrive when the thread waits for them; until then their places have other bytes than before. */
struct Copy {
  uint32_t to, size;
  const uint8_t *from;
};
constexpr uint32_t kCopied = 16; /* bytes */
inline std::deque<std::vector<Copy>> copies[kMost];

inline void begin_copy(uint32_t to, const uint8_t *from, uint32_t size)
{
  if (copies[self].empty())
    copies[self].emplace_back();
  copies[self].back().push_back({to, size, from});
  memset(shared_at(to, kCopied), 0x25, kCopied);
}

/* Ends a group, and waits for all groups but the last `but`. */
inline void end_copies(uint32_t but)
{
  auto &groups = copies[self];
  groups.emplace_back();
  for (; groups.size() > but + 1; groups.pop_front())
    for (const Copy &copy : groups.front()) {
      memset(shared_at(copy.to, kCopied), 0, kCopied);
      memcpy(shared_at(copy.to, kCopied), copy.from, copy.size);
    }
}

/* Of the host's threads one at a time has a launch. */
inline std::mutex launching;

inline void launch(uint32_t grid, dim3 threads, uint32_t shared_bytes,
                   const std::function<void()> &call)
{
  std::lock_guard<std::mutex> guard(launching);
  constexpr uint32_t kRounds = 1000000; /* more: threads wait for such as are done */

  if (!all)
    create_fibers();
  if (shared_bytes > kShared)
    abort();
  shared_size = shared_bytes;
  kernel = call;
  count = threads.x * threads.y;
  blockDim = {threads.x, threads.y};
  for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++) {
    uint32_t rounds = 0;
    running = count;
    for (uint32_t i = 0; i < count; i++) {
      all[i].done = false;
      copies[i].clear();
    }
    for (; running && rounds < kRounds; rounds++)
      run_all();
    if (running || block.arrived) {
      fprintf(stderr, "threads of a block are at different barriers\n");
      abort();
    }
  }
}

} // namespace fibers

#define __syncthreads() fibers::wait(&fibers::block, fibers::count)

namespace fibers {

/* The value of another thread of the warp. All lanes take part. */
template <typename T> T exchange(T value, uint32_t from)
{
  uint32_t thread = self;
  T other;

  memcpy(values[thread], &value, sizeof value);
  wait_for_warp();
  memcpy(&other, values[from], sizeof other);
  wait_for_warp();
  return other;
}

/* Whether `value` is true for all threads of the block. */
inline int all_of(int value)
{
  static uint32_t num_true;
  uint32_t thread = self;

  if (thread == 0)
    num_true = 0;
  wait(&block, count);
  num_true += value != 0;
  wait(&block, count);
  return num_true == count;
}

} // namespace fibers

#define __syncthreads_and(value) fibers::all_of(value)
#define __syncthreads_or(value)  (!fibers::all_of(!(value)))
#ifdef LANES_ARE_APART /* no lane takes anything from another: they need not wait */
#define __syncwarp() ((void)0)
#else
#define __syncwarp() fibers::wait_for_warp()
#endif

template <typename T> inline T __shfl_up_sync(uint32_t, T value, uint32_t distance)
{
  uint32_t thread = fibers::self, lane = thread % fibers::kWarp;

  return fibers::exchange(value, lane >= distance ? thread - distance : thread);
}

template <typename T> inline T __shfl_down_sync(uint32_t, T value, uint32_t distance)
{
  uint32_t thread = fibers::self, lane = thread % fibers::kWarp;

  return fibers::exchange(value, lane + distance < fibers::kWarp ? thread + distance : thread);
}

template <typename T> inline T __shfl_xor_sync(uint32_t, T value, uint32_t mask)
{
  return fibers::exchange(value, fibers::self ^ mask);
}

template <typename T> inline T __shfl_sync(uint32_t, T value, int lane)
{
  return fibers::exchange(value, fibers::self / fibers::kWarp * fibers::kWarp + (uint32_t)lane);
}

inline uint32_t __ballot_sync(uint32_t, bool value)
{
  uint32_t thread = fibers::self, first = thread / fibers::kWarp * fibers::kWarp, bits = 0;

  fibers::values[thread][0] = value;
  fibers::wait_for_warp();
  for (uint32_t lane = 0; lane < fibers::kWarp; lane++)
    bits |= (uint32_t)fibers::values[first + lane][0] << lane;
  fibers::wait_for_warp();
  return bits;
}

inline uint32_t __reduce_add_sync(uint32_t mask, uint32_t value)
{
  for (uint32_t d = fibers::kWarp / 2; d; d /= 2)
    value += __shfl_xor_sync(mask, value, d);
  return value;
}

inline float __uint_as_float(uint32_t bits)
{
  float value;

  memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t __float_as_uint(float value)
{
  uint32_t bits;

  memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline uint32_t atomicAdd(uint32_t *word, uint32_t n)
{
  uint32_t before = *word;

  *word += n;
  return before;
}

inline unsigned long long atomicAdd(unsigned long long *word, unsigned long long n)
{
  unsigned long long before = *word;

  *word += n;
  return before;
}

inline uint32_t atomicOr(uint32_t *word, uint32_t bits)
{
  uint32_t before = *word;

  *word |= bits;
  return before;
}

inline int __any_sync(uint32_t mask, bool value)
{
#ifdef LANES_ARE_APART
  (void)mask;
  return value;
#else
  return __ballot_sync(mask, value) != 0;
#endif
}

template <typename T> inline T __ldg(const T *from)
{
  return *from;
}

inline float __fmul_rn(float a, float b)
{
  return a * b;
}

inline float __uint2float_rn(uint32_t n)
{
  return (float)n;
}

inline uint32_t __brev(uint32_t word)
{
  uint32_t bits = 0;

  for (uint32_t i = 0; i < 32; i++)
    bits |= (word >> i & 1) << (31 - i);
  return bits;
}

inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t shift)
{
  return (uint32_t)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}

inline uint32_t __funnelshift_rc(uint32_t low, uint32_t high, uint32_t shift)
{
  return (uint32_t)(((uint64_t)high << 32 | low) >> (shift < 32 ? shift : 32));
}

inline uint2 make_uint2(uint32_t x, uint32_t y)
{
  return {x, y};
}

inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
  return {x, y, z, w};
}

inline size_t __cvta_generic_to_shared(const void *address)
{
  return (size_t)(static_cast<const unsigned char *>(address) - fibers::shared);
}

/* Attributes do not matter here. */
template <typename Kernel> inline cudaError_t cudaFuncSetAttribute(Kernel *, cudaFuncAttribute, int)
{
  return cudaSuccess;
}

inline int __ffs(int n)
{
  return __builtin_ffs(n);
}

inline int __popc(unsigned n)
{
  return __builtin_popcount(n);
}

inline int __clz(int n)
{
  return n ? __builtin_clz((unsigned)n) : 32;
}

inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift)
{
  return (uint32_t)(((uint64_t)high << 32 | low) >> (shift & 31));
}

inline uint32_t __byte_perm(uint32_t low, uint32_t high, uint32_t selectors)
{
  uint64_t bytes = (uint64_t)high << 32 | low;
  uint32_t out = 0;

  for (uint32_t i = 0; i < 4; i++)
    out |= (uint32_t)(bytes >> 8 * (selectors >> 4 * i & 7) & 0xff) << 8 * i;
  return out;
}

using std::max;
using std::min;

#endif
