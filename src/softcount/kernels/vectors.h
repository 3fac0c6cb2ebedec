/* Small vectors of doubles: everything the kernels need to know about the processor.
 *
 * A `vec` holds LANES doubles, which the processor adds, multiplies or compares all at once. On GCC and Clang it is
 * a "vector extension" type, so ordinary arithmetic works on it:
 *
 *     vec a = load(p), b = load(q);     LANES consecutive doubles from memory, at any address
 *     store(r, a * b + splat(3.0));     the operation happens in every lane; splat repeats one number in all lanes
 *
 * The file that includes this one sets VECTOR_BYTES to the width of the registers it is compiled for: 64 with AVX-512,
 * 32 with AVX2, 16 with SSE2 or NEON (LANES is 8, 4 or 2), and 8 for compilers without vector extensions, where a vec
 * is one double and the same source is plain C. Never set it wider than the registers: GCC then spills every vec to memory.
 *
 * There is no `if` on a vec. A comparison gives a mask (`bits`: all ones in the lanes where it holds), and
 * choose(mask, a, b) picks each lane from a or b.
 *
 * Kernels that keep several vecs in registers hold them in a small array and go through it with UNROLL, so that the
 * compiler sees constant subscripts and puts each element in a register of its own. */
#ifndef SOFTCOUNT_VECTORS_H
#define SOFTCOUNT_VECTORS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if VECTOR_BYTES == 64
#include <immintrin.h>
#endif

#define LANES ((ptrdiff_t)(VECTOR_BYTES / 8))

#if defined(__GNUC__) || defined(__clang__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#define __restrict
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

#if VECTOR_BYTES == 8
typedef double vec;
typedef uint64_t bits;
#define MASK(comparison) ((bits)0 - (bits)(comparison))
#else
typedef double vec __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t bits __attribute__((vector_size(VECTOR_BYTES)));
#define MASK(comparison) ((bits)(comparison))
#endif

INLINE vec load(const double *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(double *to, vec v) { memcpy(to, &v, sizeof v); }

INLINE vec splat(double x) {
    const vec zero = {0};
    return x - zero;
}

INLINE bits as_bits(vec v) {
    bits b;
    memcpy(&b, &v, sizeof b);
    return b;
}

INLINE vec as_vec(bits b) {
    vec v;
    memcpy(&v, &b, sizeof v);
    return v;
}

INLINE vec choose(bits mask, vec a, vec b) { return as_vec((mask & as_bits(a)) | (~mask & as_bits(b))); }

/* a > b ? a : b in each lane, so that the answer is b where one of them is NaN. */
INLINE vec maximum(vec a, vec b) {
#if VECTOR_BYTES == 64
    return _mm512_max_pd(a, b);
#elif VECTOR_BYTES == 32
    return __builtin_ia32_maxpd256(a, b);
#elif VECTOR_BYTES == 16 && defined(__SSE2__)
    return __builtin_ia32_maxpd(a, b);
#else
    return choose(MASK(a > b), a, b);
#endif
}

/* Bit i of the answer says whether the mask holds in lane i. */
INLINE unsigned lane_mask(bits mask) {
#if VECTOR_BYTES == 64
    return _mm512_movepi64_mask((__m512i)mask);
#elif VECTOR_BYTES == 32
    return (unsigned)__builtin_ia32_movmskpd256(as_vec(mask));
#elif VECTOR_BYTES == 16 && defined(__SSE2__)
    return (unsigned)__builtin_ia32_movmskpd(as_vec(mask));
#else
    uint64_t lanes[VECTOR_BYTES / 8];
    unsigned set = 0;
    memcpy(lanes, &mask, sizeof mask);
    for (ptrdiff_t i = 0; i < LANES; i++) set |= (unsigned)(lanes[i] & 1) << i;
    return set;
#endif
}

INLINE double lane(vec v, ptrdiff_t i) {
    double lanes[VECTOR_BYTES / 8];
    memcpy(lanes, &v, sizeof v);
    return lanes[i];
}

/* The sum of the lanes, added in pairs. */
INLINE double sum_lanes(vec v) {
#if VECTOR_BYTES == 8
    return v;
#elif VECTOR_BYTES == 16
    return v[0] + v[1];
#elif VECTOR_BYTES == 32
    return (v[0] + v[2]) + (v[1] + v[3]);
#else
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
#endif
}

INLINE double max_lanes(vec v) {
    double top = lane(v, 0);
    for (ptrdiff_t i = 1; i < LANES; i++) top = lane(v, i) > top ? lane(v, i) : top;
    return top;
}

/* exp(x) for x <= 0 (and a little above): error below 1 ulp with fused multiply-add, 1.2 ulp without. exp(-inf) is 0,
 * results below the smallest normal number are rounded once, NaN stays NaN.
 *
 *     exp(x) = 2^k exp(r),   k = round(x / ln 2),   r = x - k ln 2 in [-0.35, 0.35]
 *
 * exp(r) is its Taylor series to the 13th power, whose remainder is below 2^-57. Adding 1.5 * 2^52 rounds to an
 * integer and leaves it in the low bits, from where it is shifted into the exponent of a power of two. That power is
 * first 2^64 too large, so that it is a normal number, and the last multiplication rounds where the result is not. */
INLINE vec exp_of_nonpositive(vec x) {
    const double smallest = -746.0, rounder = 6755399441055744.0;       /* 1.5 * 2^52 */
    const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33; /* k * ln2_high is exact */
    static const double inverse_factorial[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                               1.0 / 3628800.0,    1.0 / 362880.0,    1.0 / 40320.0,
                                               1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,
                                               1.0 / 24.0,         1.0 / 6.0,         0.5};
    x = maximum(splat(smallest), x);
    vec shifted = x * splat(0x1.71547652b82fep0) + splat(rounder);
    vec k = shifted - splat(rounder);
    vec r = (x - k * splat(ln2_high)) - k * splat(ln2_low);
    vec series = splat(inverse_factorial[0]);
    UNROLL
    for (int i = 1; i < 12; i++) series = series * r + splat(inverse_factorial[i]);
    vec power = as_vec((as_bits(shifted) + (1023 + 64)) << 52);
    return ((series * (r * r) + r) + splat(1.0)) * power * splat(0x1p-64);
}

/* log(x) for finite x >= 1, or any normal number above zero: error below 2 ulp for x >= 1, and for those below it
 * where the logarithm is not near zero. NaN stays NaN.
 *
 *     log(x) = k ln 2 + log(m),   m in [sqrt(1/2), sqrt(2)),   log(m) = 2 artanh(s),   s = (m - 1) / (m + 1)
 *
 * with artanh(s) = s + s^3/3 + s^5/5 + …, whose remainder after s^21 is below 2^-55 because |s| < 0.172. */
INLINE vec log_of_normal(vec x) {
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcdu, two_to_52 = 0x4330000000000000u, bias = 1024;
    /* The bias keeps the exponents of numbers below one from wrapping around. */
    bits biased = (as_bits(x) - sqrt_half + (bias << 52)) >> 52;
    vec m = as_vec(as_bits(x) - ((biased - bias) << 52));
    vec k = as_vec(biased | two_to_52) - splat(0x1p52 + 1024.0);
    vec s = (m - splat(1.0)) / (m + splat(1.0));
    vec z = s * s;
    vec series = splat(2.0 / 21.0);
    UNROLL
    for (int i = 9; i >= 1; i--) series = series * z + splat(2.0 / (2 * i + 1));
    vec small = (s * z) * series + k * splat(0x1.a39ef35793c76p-33);
    return k * splat(0x1.62e42feep-1) + (splat(2.0) * s + small) + x * splat(0.0);
}

#endif
