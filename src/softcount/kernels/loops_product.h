/* Small matrix products, for dense rows in which most cells are not zero: listing them would not pay. */
#include "loops_rows.h"

enum { PRODUCT_ROWS = 4, PRODUCT_VECS = 2 }; /* what one group of registers sums up: eight vectors */

/* `n` terms of the product of PRODUCT_ROWS rows with a table: row r has its term t at row[r][t * step]. */
struct product_job {
    const double *row[PRODUCT_ROWS];
    ptrdiff_t step, n, n_rows;
    const double *table;
    double *out; /* n_rows rows are added to, `n_classes` apart */
};

/* Vectors first … first + vecs - 1 of the block, for all rows. */
INLINE void sum_product(const struct product_job *job, struct block block, ptrdiff_t width, const int shape,
                        const int first, const int vecs, vec total[PRODUCT_ROWS][MAX_VECS]) {
    const double *table = job->table + block.first;
    vec sum[PRODUCT_ROWS][PRODUCT_VECS];
    UNROLL
    for (int r = 0; r < PRODUCT_ROWS; r++) {
        UNROLL
        for (int v = 0; v < vecs; v++) sum[r][v] = splat(0.0);
    }
    for (ptrdiff_t t = 0; t < job->n; t++, table += block.n_classes) {
        vec term[PRODUCT_VECS];
        UNROLL
        for (int v = 0; v < vecs; v++) term[v] = load(table + VEC_AT(first + v));
        UNROLL
        for (int r = 0; r < PRODUCT_ROWS; r++) {
            vec x = splat(job->row[r][t * job->step]);
            UNROLL
            for (int v = 0; v < vecs; v++) sum[r][v] += x * term[v];
        }
    }
    UNROLL
    for (int r = 0; r < PRODUCT_ROWS; r++) {
        UNROLL
        for (int v = 0; v < vecs; v++) total[r][first + v] = sum[r][v];
    }
}

INLINE void product_block(const struct product_job *job, struct block block, const int shape) {
    const ptrdiff_t width = block.width;
    if (shape < 0) return; /* never asked for, see products_pay */
    vec total[PRODUCT_ROWS][MAX_VECS];
    UNROLL
    for (int first = 0; first < shape; first += PRODUCT_VECS) {
        if (shape - first >= PRODUCT_VECS) sum_product(job, block, width, shape, first, PRODUCT_VECS, total);
        else sum_product(job, block, width, shape, first, 1, total);
    }
    for (ptrdiff_t r = 0; r < job->n_rows; r++) {
        double *out = job->out + r * block.n_classes + block.first;
        UNROLL
        for (int v = 0; v < shape; v++) total[r][v] += load(out + VEC_AT(v));
        UNROLL
        for (int v = 0; v < shape; v++) store(out + VEC_AT(v), total[r][v]);
    }
}
FOR_ALL_SHAPES(product_block, product_job)

/* Too few classes do not fill a vector. */
static int products_pay(ptrdiff_t n_rows, ptrdiff_t n_classes) {
    return n_rows >= PRODUCT_ROWS && n_classes >= LANES;
}
