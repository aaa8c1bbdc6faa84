// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Rows of quad records on their way from the first step to the second one, where both are done side
 * by side: a ring of rows for each block, in shared memory. The thread that makes them waits if the
 * ring is full, the lanes that read them if it is empty.
 *
 * Each row of a ring has two barriers in shared memory (PTX mbarrier; compute capability 8.0): one
 * completes a phase when the row has been made, the other one when it has been read. A counter of
 * rows would need a fence before each change, which also waits for what the thread loads from the
 * memory of the device.
 *
 * Nobody waits for ever, even if threads of a warp wait for each other where they come together
 * after a wait: those are at the same row. Lanes at row y wait for the thread that makes row y, and
 * that thread, if the ring is full, for lanes at row y - 8. So from one who waits to whom he waits
 * for, the row never becomes higher, and in a circle no ring could be full; then all threads that
 * make rows go on.
 */
#pragma once

#include "common.cuh"
#include "shared_memory.cuh"

constexpr uint32_t kRows = 8; /* of a ring */

/* Its phases are complete when so many threads have arrived. */
__device__ __forceinline__ void init_barrier(uint32_t barrier, uint32_t threads)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(threads) : "memory");
#endif
}

__device__ __forceinline__ void arrive(uint32_t barrier)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier)
               : "memory");
#endif
}

/* Waits until the phase with this parity is complete. The thread sleeps meanwhile: others need the
 * scheduler. */
__device__ __forceinline__ void wait_for(uint32_t barrier, uint32_t parity)
{
#if __CUDA_ARCH__ >= 900
  constexpr uint32_t kLongNs = 1000000;
  asm volatile("{ .reg .pred p;\n"
               "again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1, %2;\n"
               "@!p bra again; }" ::"r"(barrier),
               "r"(parity), "r"(kLongNs)
               : "memory");
#elif __CUDA_ARCH__ >= 800
  constexpr uint32_t kShortNs = 100; /* a row takes some microseconds */
  for (uint32_t complete = 0;;) {
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(complete)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    if (complete)
      return;
    __nanosleep(kShortNs);
  }
#endif
}

/* The ring of a block with rows of up to LANES quads. Addresses in shared memory. Behind its last
 * row a block has one more, which says whether the others are good. */
template <uint32_t LANES> struct RowRing {
  uint32_t rows;     /* records; aligned to 16 bytes */
  uint32_t barriers; /* of each row: it has been made; of each row: it has been read */

  static constexpr uint32_t kPitch = LANES * 4, kBytes = kRows * kPitch;
  static constexpr uint32_t kBarrierBytes = 2 * kRows * 8;

  __device__ __forceinline__ void init() const
  {
    for (uint32_t y = 0; y < kRows; y++) {
      init_barrier(made(y), 1);
      init_barrier(taken(y), LANES);
    }
  }

  __device__ __forceinline__ uint32_t row(uint32_t y) const
  {
    return rows + y % kRows * kPitch;
  }
  __device__ __forceinline__ uint32_t made(uint32_t y) const
  {
    return barriers + 8 * (y % kRows);
  }
  __device__ __forceinline__ uint32_t taken(uint32_t y) const
  {
    return made(y) + 8 * kRows;
  }
  /* Of the phase in which row y is made, and read. */
  __device__ __forceinline__ static uint32_t parity(uint32_t y)
  {
    return y / kRows & 1;
  }
};

/* The end at which rows are made: see StoredRows. */
template <uint32_t LANES> struct JointRows {
  RowRing<LANES> ring;
  uint32_t row;

  /* Before row y: waits until the row that had its place has been read. */
  __device__ __forceinline__ void begin(uint32_t y)
  {
    row = ring.row(y);
    if (y >= kRows)
      wait_for(ring.taken(y), ring.parity(y - kRows));
  }
  __device__ __forceinline__ void end(uint32_t y) const
  {
    arrive(ring.made(y));
  }

  __device__ __forceinline__ const uint32_t *last() const
  {
    return nullptr; /* only rows of more than 64 samples are read again */
  }

  __device__ __forceinline__ void put(uint32_t q, uint4 records) const
  {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(row + 4 * q), "r"(records.x),
                 "r"(records.y), "r"(records.z), "r"(records.w)
                 : "memory");
  }

  /* At the end of a block of so many rows. */
  __device__ __forceinline__ void finish(uint32_t num_rows, bool good)
  {
    begin(num_rows);
    put(0, make_uint4(good, 0, 0, 0));
    end(num_rows);
  }
};

/* The end at which they are read: see StoredQuads. */
template <uint32_t LANES> struct JointQuads {
  RowRing<LANES> ring;
  uint32_t *copy;  /* where the third step expects them, which follows if the block is refined */
  uint32_t stride; /* there */
  bool is_refined;
  uint32_t y, num_rows, lane;

  __device__ JointQuads(const RowRing<LANES> &rows, uint32_t *quads, const Block &block,
                        bool refined, uint32_t of_group)
      : ring(rows), copy(quads), stride(CJ2K_CUDA_QUAD_STRIDE(block.width)), is_refined(refined),
        y(0), num_rows((block.height + 1u) / 2), lane(of_group)
  {
  }

  __device__ __forceinline__ void begin() const
  {
    wait_for(ring.made(y), ring.parity(y));
  }
  __device__ __forceinline__ uint32_t at(uint32_t q) const
  {
    return load_shared(ring.row(y) + 4 * q);
  }
  __device__ __forceinline__ void end()
  {
    if (is_refined && lane < stride)
      copy[lane] = at(lane);
    copy += stride;
    arrive(ring.taken(y));
    y++;
  }

  __device__ __forceinline__ void start(uint32_t, bool) const {}
  __device__ __forceinline__ uint32_t take(bool active, bool)
  {
    begin();
    uint32_t record = active ? at(lane) : 0;
    end();
    return record;
  }

  /* Takes the rows that are left, so that the thread that makes them need not wait. Returns whether
   * all are good. */
  __device__ __forceinline__ bool finish()
  {
    while (y < num_rows) {
      begin();
      end();
    }
    begin();
    return at(0);
  }
};
