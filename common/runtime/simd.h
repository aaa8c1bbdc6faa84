/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Vector code without intrinsics. Functions marked CJ2K_SIMD have loops that the compiler
 * vectorises; it compiles them for the baseline and for AVX2, and one version is chosen when the
 * program is loaded. Both do the same IEEE operations in the same order, so their results are the
 * same bits.
 */
#ifndef CJ2K_RUNTIME_SIMD_H
#define CJ2K_RUNTIME_SIMD_H

#include <stdint.h> /* __GLIBC__ */

/* The choice needs ifuncs, which glibc has. ThreadSanitizer instruments their resolvers, which run
 * before it is ready, so that programs with it would crash at start: they have the baseline only.
 * Enabling AVX2 does not enable FMA, and -ffp-contract=off forbids it in any case. CJ2K_NO_SIMD
 * leaves only the baseline, for tests. */
#if defined(__SANITIZE_THREAD__)
#define CJ2K_BASELINE
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CJ2K_BASELINE
#endif
#endif
#if defined(CJ2K_NO_SIMD) && !defined(CJ2K_BASELINE)
#define CJ2K_BASELINE
#endif
#if !defined(CJ2K_BASELINE) && defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define CJ2K_SIMD __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef CJ2K_SIMD
#define CJ2K_SIMD
#endif

/* For loops whose pointers may be equal but never overlap in part. */
#if defined(__clang__)
#define CJ2K_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define CJ2K_IVDEP _Pragma("GCC ivdep")
#endif

#endif
