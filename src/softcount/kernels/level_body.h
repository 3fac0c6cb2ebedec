/* The loops, compiled for the width of vector that the including file sets, and the table of what they offer. */
#include "level.h"

#include "loops_codes.h"
#include "loops_csr.h"
#include "loops_dense.h"
#include "loops_gaussian.h"
#include "loops_gaussian_full.h"
#include "loops_logistic.h"
#include "loops_normalize.h"
#include "loops_pass.h"
#include "loops_range.h"
#include "loops_words.h"

#define THE_LEVEL(level_name)                                                                           \
    {                                                                                                   \
        .name = level_name, .number_range = number_range, .csr_check = csr_check, .csr_scores = csr_scores,                           \
        .csr_accumulate = csr_accumulate, .csr_class_counts = csr_class_counts,                         \
        .words_check = words_check, .words_accumulate = words_accumulate,                               \
        .codes_scores = codes_scores,                                                                   \
        .codes_accumulate = codes_accumulate, .codes_class_counts = codes_class_counts,                 \
        .codes_pass = codes_pass,                                                                       \
        .dense_scores = dense_scores, .dense_accumulate = dense_accumulate,                             \
        .dense_class_counts = dense_class_counts, .gaussian_scores = gaussian_scores,                   \
        .gaussian_moments = gaussian_moments, .gaussian_class_moments = gaussian_class_moments,         \
        .full_scores = full_scores, .full_moments = full_moments, .logistic_score = logistic_score,     \
        .normalize_rows = normalize_rows                                                                \
    }
