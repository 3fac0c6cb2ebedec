/* The non-zeros of a chunk sorted by column ("word").
 *
 * Going word by word reads the responsibilities of one chunk, which stay in the cache, and writes each row of counts
 * once, where going row by row reads and writes a row of counts for every non-zero. */
#include "loops_rows.h"

struct words_job {
    const struct words *index;
    const double *resp;
    double *out;
};

/* Whether every position in the index is one that resp and out have. */
static int words_check(const struct words *index, ptrdiff_t n_entries, ptrdiff_t n_features) {
    uint16_t largest = 0;
    for (ptrdiff_t p = 0; p < n_entries; p++) largest = index->rows[p] > largest ? index->rows[p] : largest;
    int fits = (n_entries == 0 || largest < index->n_rows) && index->starts[0] == 0;
    for (ptrdiff_t w = 0; w < index->n_words; w++)
        fits &= (index->words[w] >= 0) & (index->words[w] < n_features) & (index->starts[w] <= index->starts[w + 1]);
    return fits && index->starts[index->n_words] == n_entries;
}

INLINE void sum_words_vecs(const struct words_job *job, struct block block, const int shape, const int weighted) {
    const struct words *index = job->index;
    const double *resp = job->resp + block.first;
    const ptrdiff_t stride = block.n_classes, width = block.width, last = index->starts[index->n_words] - 1;
    for (ptrdiff_t w = 0; w < index->n_words; w++) {
        double *out = job->out + index->words[w] * stride + block.first;
        vec sum[MAX_VECS];
        UNROLL
        for (int v = 0; v < shape; v++) sum[v] = load(out + VEC_AT(v));
        for (ptrdiff_t p = index->starts[w]; p < index->starts[w + 1]; p++) {
            const double *row = resp + index->rows[p] * stride;
            if (shape > 2) {
                ptrdiff_t later = p + PREFETCH_AHEAD < last ? p + PREFETCH_AHEAD : last;
                const double *ahead = resp + index->rows[later] * stride;
                UNROLL
                for (int line = 0; line < shape * (int)LANES; line += 8) PREFETCH(ahead + line);
            }
            vec x = splat(weighted ? (double)index->counts[p] : 1.0);
            UNROLL
            for (int v = 0; v < shape; v++) sum[v] += weighted ? x * load(row + VEC_AT(v)) : load(row + VEC_AT(v));
        }
        UNROLL
        for (int v = 0; v < shape; v++) store(out + VEC_AT(v), sum[v]);
    }
}

INLINE void sum_words_narrow(const struct words_job *job, struct block block, const int width) {
    const struct words *index = job->index;
    for (ptrdiff_t w = 0; w < index->n_words; w++) {
        double sum[3], *out = job->out + index->words[w] * block.n_classes + block.first;
        UNROLL
        for (int k = 0; k < width; k++) sum[k] = out[k];
        for (ptrdiff_t p = index->starts[w]; p < index->starts[w + 1]; p++) {
            const double *row = job->resp + index->rows[p] * block.n_classes + block.first;
            double x = index->counts ? (double)index->counts[p] : 1.0;
            UNROLL
            for (int k = 0; k < width; k++) sum[k] += x * row[k];
        }
        UNROLL
        for (int k = 0; k < width; k++) out[k] = sum[k];
    }
}

INLINE void words_block(const struct words_job *job, struct block block, const int shape) {
    if (shape < 0) sum_words_narrow(job, block, -shape);
    else if (job->index->counts) sum_words_vecs(job, block, shape, 1);
    else sum_words_vecs(job, block, shape, 0);
}
FOR_ALL_SHAPES(words_block, words_job)

static void words_accumulate(const struct words *index, const double *resp, ptrdiff_t n_classes, double *out) {
    struct words_job job = {index, resp, out};
    words_block_all(&job, n_classes);
}
