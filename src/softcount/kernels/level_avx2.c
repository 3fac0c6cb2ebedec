/* Vectors of 32 bytes with fused multiply-add: x86 processors since about 2013. setup.py compiles this file, and only
 * this one, with -mavx2 -mfma; module.c calls it only where the processor has both. */
#if defined(__AVX2__) && defined(__FMA__) && (defined(__GNUC__) || defined(__clang__))
#define VECTOR_BYTES 32
#include "level_body.h"

const struct level softcount_avx2 = THE_LEVEL("avx2");
#endif
