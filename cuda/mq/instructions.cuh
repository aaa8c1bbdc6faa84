// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Instructions of the GPU that the MQ coder names itself. Where kernels run on the CPU
 * (tests/cuda/fibers) there are others in their place.
 */
#pragma once

#include "cuda/shared/copies.cuh"

#include <cstdint>
#include <cuda_runtime_api.h>

/* Leading zeros of a number that is not zero. One instruction; __clz has two, because it also
 * handles zero. */
__device__ __forceinline__ uint32_t leading_zeros(uint32_t word)
{
  uint32_t count;
  asm("bfind.shiftamt.u32 %0, %1;" : "=r"(count) : "r"(word));
  return count;
}

/* What DECODE chooses between (T.800 C.3.2), as instructions that select: the compiler would make
 * numbers of the conditions in between. */
struct Choice {
  uint32_t a;     /* `qe` if C is in the lower sub-interval (`high` < `qe`), else `upper` */
  uint32_t after; /* after.y if that is the LPS's sub-interval, else after.x */
  /* if_one or if_zero: the decision is the MPS, bit 31 of `sign`, or the other one. */
  uint32_t value;
};

__device__ __forceinline__ Choice choose(uint32_t high, uint32_t qe, uint32_t upper, uint32_t sign,
                                         uint2 after, uint32_t if_one, uint32_t if_zero)
{
  Choice choice;
  asm("{\n\t"
      ".reg .pred lower, lps, one;\n\t"
      "setp.lt.u32 lower, %3, %4;\n\t"
      "setp.lt.xor.u32 lps, %5, %4, lower;\n\t" /* conditional exchange */
      "setp.lt.xor.s32 one, %6, 0, lps;\n\t"
      ".reg .u32 a, after;\n\t" /* outputs may be in the registers of inputs */
      "selp.b32 a, %4, %5, lower;\n\t"
      "selp.b32 after, %8, %7, lps;\n\t"
      "selp.b32 %2, %9, %10, one;\n\t"
      "mov.b32 %0, a;\n\t"
      "mov.b32 %1, after;\n\t"
      "}"
      : "=r"(choice.a), "=r"(choice.after), "=r"(choice.value)
      : "r"(high), "r"(qe), "r"(upper), "r"(sign), "r"(after.x), "r"(after.y), "r"(if_one),
        "r"(if_zero));
  return choice;
}

/* What ENCODE does (T.800 C.2.2 to C.2.5) before the shift: the lower sub-interval is the LPS's,
 * unless it is the larger one (conditional exchange). The machine can combine two conditions in one
 * comparison; compilers turn them into numbers first, which takes twice as long. */
struct Coded {
  uint32_t a;       /* not shifted; in bits 31..16 */
  uint32_t add;     /* to C: Qe for the upper sub-interval */
  uint32_t context; /* after.y after the LPS, after.x if an MPS renormalises, else unchanged */
};

/* `context` has Qe in its lower half; `lps` is not zero for the LPS. */
__device__ __forceinline__ Coded encode_symbol(uint32_t a, uint32_t context, uint32_t lps,
                                               uint2 after)
{
  Coded coded;
  asm("{\n\t"
      ".reg .pred l, lower;\n\t"
      ".reg .u32 top, upper, next, kept;\n\t"
      "shl.b32 top, %4, 16;\n\t"
      "sub.u32 upper, %3, top;\n\t"
      "setp.ne.u32 l, %5, 0;\n\t"
      "setp.lt.xor.u32 lower, upper, top, l;\n\t"
      "selp.u32 %0, top, upper, lower;\n\t"
      "shr.s32 kept, %0, 31;\n\t"
      "selp.u32 %1, 0, top, lower;\n\t"
      "selp.u32 next, %7, %6, l;\n\t"
      "lop3.b32 %2, kept, %4, next, 0xCA;\n\t"
      "}"
      : "=&r"(coded.a), "=&r"(coded.add), "=&r"(coded.context)
      : "r"(a), "r"(context), "r"(lps), "r"(after.x), "r"(after.y));
  return coded;
}

/* A number that the compiler must compute before it computes others from it. */
__device__ __forceinline__ uint32_t alone(uint32_t number)
{
  asm("" : "+r"(number));
  return number;
}

/* The bits of a mask in which two words differ. */
__device__ __forceinline__ uint32_t differing(uint32_t first, uint32_t second, uint32_t mask)
{
  uint32_t bits;
  asm("lop3.b32 %0, %1, %2, %3, 0x28;" : "=r"(bits) : "r"(first), "r"(second), "r"(mask));
  return bits;
}

/* Access to shared memory by 32-bit addresses. They are computed once and kept in registers;
 * pointers into shared memory the compiler computes again at each use, from the thread's number. */
__device__ __forceinline__ uint32_t shared_address(const void *memory)
{
  return alone((uint32_t)__cvta_generic_to_shared(memory));
}

__device__ __forceinline__ uint32_t shared_byte(uint32_t address)
{
  uint32_t byte;
  asm("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(address));
  return byte;
}

/* A byte whose bit 7 becomes bits 31 to 7 of the word. */
__device__ __forceinline__ uint32_t shared_signed_byte(uint32_t address)
{
  uint32_t byte;
  asm("ld.shared.s8 %0, [%1];" : "=r"(byte) : "r"(address));
  return byte;
}

__device__ __forceinline__ uint32_t shared_word(uint32_t address)
{
  uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

__device__ __forceinline__ void set_shared_word(uint32_t address, uint32_t word)
{
  asm volatile("st.shared.u32 [%0], %1;" : : "r"(address), "r"(word));
}

/* Four words at a multiple of 16, which another warp writes or reads. */
__device__ __forceinline__ uint4 shared_four(uint32_t address)
{
  uint4 four;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
               : "r"(address)
               : "memory");
  return four;
}

__device__ __forceinline__ void set_shared_four(uint32_t address, uint4 four)
{
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(address), "r"(four.x), "r"(four.y), "r"(four.z), "r"(four.w)
               : "memory");
}

/* Atomic operations without a result: the thread does not wait for the old value. */
__device__ __forceinline__ void add_shared_bits(uint32_t address, uint32_t bits)
{
  asm volatile("red.shared.or.b32 [%0], %1;" : : "r"(address), "r"(bits));
}

__device__ __forceinline__ void keep_shared_bits(uint32_t address, uint32_t bits)
{
  asm volatile("red.shared.and.b32 [%0], %1;" : : "r"(address), "r"(bits));
}

/* Two words of a table, which nothing writes to: hence not volatile. */
__device__ __forceinline__ uint2 shared_pair(uint32_t address)
{
  uint2 pair;
  asm("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(pair.x), "=r"(pair.y) : "r"(address));
  return pair;
}
