/* What one instruction-set level offers, and the descriptions of the arrays it works on.
 *
 * Each level_*.c file compiles all loops_*.h files for one width of vector and fills one `struct level`; module.c
 * chooses the best one that the processor can run. A function that checks its input returns the position of the
 * first entry that is out of range, or ALL_VALID. */
#ifndef SOFTCOUNT_LEVEL_H
#define SOFTCOUNT_LEVEL_H

#include <stddef.h>
#include <stdint.h>

#define ALL_VALID ((ptrdiff_t)-1)
#define OUT_OF_MEMORY ((ptrdiff_t)-2)

enum number { F64 = 1, F32 = 2, I8 = 4, U8 = 8, I16 = 16, U16 = 32, I32 = 64, U32 = 128, I64 = 256, U64 = 512 };
enum { ANY_NUMBER = 1023 };

/* A chunk of sparse rows: row i has the entries indptr[i] … indptr[i + 1] - 1 of indices and data. */
struct sparse {
    ptrdiff_t n_rows, n_features;
    const void *indptr, *indices, *data; /* data may be NULL: every value is 1 */
    enum number indptr_type, indices_type, data_type;
};

/* A chunk of dense rows, row after row. */
struct dense {
    ptrdiff_t n_rows, n_features;
    const void *cells;
    enum number type;
};

/* The non-zeros of a chunk sorted by column: entries starts[w] … starts[w + 1] - 1 belong to column words[w]. */
struct words {
    ptrdiff_t n_words, n_rows;
    const int32_t *words, *starts;
    const uint16_t *rows;
    const uint8_t *counts; /* may be NULL: every value is 1 */
};

/* Dense rows of two classes: sign is 1 for the second class and -1 for the first; offset and weight may be NULL. */
struct labeled {
    ptrdiff_t n_rows, n_features;
    const double *cells, *sign, *offset, *weight;
};

/* Where moments are added: zeroth, first and second powers. */
struct moments {
    double *weight, *sum, *square;
};

/* What numbers lie between, and their total; without any the least is above the greatest. */
struct range {
    double least, greatest, total;
    int has_missing;
};

/* A pass of EM over categorical rows, in one or several runs. Tables are those of all runs beside one another: run r has the columns r * n_classes … of each row. */
struct codes_pass {
    const struct dense *codes;
    const int64_t *offsets;
    const double *table, *log_weights, *row_weight;
    ptrdiff_t n_runs, n_classes;
    double *counts, *class_weight, *log_likelihood;
};

struct level {
    const char *name;

    void (*number_range)(const void *numbers, enum number type, ptrdiff_t n, struct range *range);

    ptrdiff_t (*csr_check)(const struct sparse *x);
    void (*csr_scores)(const struct sparse *x, const double *table, ptrdiff_t n_classes, double *out);
    void (*csr_accumulate)(const struct sparse *x, const double *resp, ptrdiff_t n_classes, double *out);
    void (*csr_class_counts)(const struct sparse *x, const int32_t *class_codes, const double *weight,
                             ptrdiff_t n_classes, double *out);
    int (*words_check)(const struct words *index, ptrdiff_t n_entries, ptrdiff_t n_features);
    void (*words_accumulate)(const struct words *index, const double *resp, ptrdiff_t n_classes, double *out);

    ptrdiff_t (*codes_scores)(const struct dense *codes, const int64_t *offsets, const double *table,
                              ptrdiff_t n_classes, double *out);
    ptrdiff_t (*codes_accumulate)(const struct dense *codes, const int64_t *offsets, const double *resp,
                                  ptrdiff_t n_classes, double *out);
    ptrdiff_t (*codes_class_counts)(const struct dense *codes, const int64_t *offsets, const int32_t *class_codes,
                                    const double *weight, ptrdiff_t n_classes, double *out);
    ptrdiff_t (*codes_pass)(const struct codes_pass *pass);

    ptrdiff_t (*dense_scores)(const struct dense *x, const double *table, ptrdiff_t n_classes, double *out);
    ptrdiff_t (*dense_accumulate)(const struct dense *x, const double *resp, ptrdiff_t n_classes, double *out);
    ptrdiff_t (*dense_class_counts)(const struct dense *x, const int32_t *class_codes, const double *weight,
                                    ptrdiff_t n_classes, double *out);

    ptrdiff_t (*gaussian_scores)(const struct dense *x, const double *mean, const double *precision,
                                 ptrdiff_t n_classes, double *out);
    ptrdiff_t (*gaussian_moments)(const struct dense *x, const double *resp, const double *center,
                                  ptrdiff_t n_classes, struct moments out);
    ptrdiff_t (*gaussian_class_moments)(const struct dense *x, const int32_t *class_codes, const double *weight,
                                        const double *center, ptrdiff_t n_classes, struct moments out);
    ptrdiff_t (*full_scores)(const struct dense *x, const double *mean, const double *precision_chol,
                             const double *log_det, ptrdiff_t n_classes, double *out);
    ptrdiff_t (*full_moments)(const struct dense *x, const double *resp, const double *center, ptrdiff_t n_classes,
                              struct moments out);

    void (*logistic_score)(const struct labeled *rows, const double *coef, double *score, double *log_likelihood);

    double (*normalize_rows)(double *scores, ptrdiff_t n_rows, ptrdiff_t n_classes, const double *row_weight,
                             const double *fallback_log_prob, double *log_norm);
};

#endif
