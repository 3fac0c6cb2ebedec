/* Vectors of 64 bytes, for the kernels that compute most: densities of Gaussian rows, their moments, the
 * softmax, and whole passes over categories. The others, which have classes in their lanes and wait for
 * memory, are those of AVX2. setup.py compiles this file with AVX-512;
 * module.c uses it only where the processor has it. */
#if defined(__AVX512F__) && defined(__AVX512DQ__) && (defined(__GNUC__) || defined(__clang__))
#define VECTOR_BYTES 64
#include "level.h"

#include "loops_gaussian.h"
#include "loops_gaussian_full.h"
#include "loops_normalize.h"
#include "loops_pass.h"
#include "loops_range.h"

extern const struct level softcount_avx2;
struct level softcount_avx512;

void softcount_fill_avx512(void) {
    softcount_avx512 = softcount_avx2;
    softcount_avx512.name = "avx512";
    softcount_avx512.number_range = number_range;
    softcount_avx512.gaussian_scores = gaussian_scores;
    softcount_avx512.gaussian_moments = gaussian_moments;
    softcount_avx512.gaussian_class_moments = gaussian_class_moments;
    softcount_avx512.full_scores = full_scores;
    softcount_avx512.full_moments = full_moments;
    softcount_avx512.normalize_rows = normalize_rows;
    softcount_avx512.codes_pass = codes_pass;
}
#endif
