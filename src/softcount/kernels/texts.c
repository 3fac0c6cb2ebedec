/* From the bytes of a table to its cells, and from the words of a vocabulary to their order. */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

ptrdiff_t softcount_find_byte(const uint8_t *text, ptrdiff_t at, ptrdiff_t end, uint8_t byte) {
    const void *found = at < end ? memchr(text + at, byte, (size_t)(end - at)) : NULL;
    return found ? (const uint8_t *)found - text : end;
}

ptrdiff_t softcount_count_lines(const uint8_t *text, ptrdiff_t n_bytes, uint8_t delimiter, ptrdiff_t n_cells) {
    ptrdiff_t n_lines = 0;
    if (softcount_find_byte(text, 0, n_bytes, '"') < n_bytes || softcount_find_byte(text, 0, n_bytes, 0) < n_bytes)
        return -1;
    for (ptrdiff_t at = 0; at < n_bytes; n_lines++) {
        ptrdiff_t end = softcount_find_byte(text, at, n_bytes, '\n'), next = end + 1, found = 1;
        /* In the last line, which nothing ends, a carriage return is one inside a line. */
        if (end < n_bytes && end > at && text[end - 1] == '\r') end--;
        if (softcount_find_byte(text, at, end, '\r') < end) return -1;
        for (; (at = softcount_find_byte(text, at, end, delimiter)) < end; at++) found++;
        if (found != n_cells) return -1;
        at = next;
    }
    return n_lines;
}

/* ---- the order of words ---- */

/* The first eight bytes of a word as a number that is ordered as they are, and the word's number. */
struct ranked {
    uint64_t start;
    int32_t word;
};

static uint64_t start_of(const uint8_t *word, ptrdiff_t n_bytes) {
    uint64_t start = 0;
    for (ptrdiff_t i = 0; i < 8; i++) start = start << 8 | (i < n_bytes ? word[i] : 0);
    return start;
}

/* Sort by the starts, byte by byte from the last one; the answer is the array that holds the result. */
static struct ranked *sort_by_start(struct ranked *from, struct ranked *to, ptrdiff_t n) {
    for (int shift = 0; shift < 64; shift += 8) {
        ptrdiff_t next[257] = {0};
        for (ptrdiff_t i = 0; i < n; i++) next[(from[i].start >> shift & 0xff) + 1]++;
        if (next[(from[0].start >> shift & 0xff) + 1] == n) continue;
        for (int byte = 0; byte < 256; byte++) next[byte + 1] += next[byte];
        for (ptrdiff_t i = 0; i < n; i++) to[next[from[i].start >> shift & 0xff]++] = from[i];
        struct ranked *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

/* What is behind the first eight bytes of a word. */
struct rest {
    const uint8_t *bytes;
    ptrdiff_t n_bytes;
    int32_t word;
};

static int compare_rests(const void *left, const void *right) {
    const struct rest *a = (const struct rest *)left, *b = (const struct rest *)right;
    ptrdiff_t common = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes;
    int order = common > 0 ? memcmp(a->bytes, b->bytes, (size_t)common) : 0;
    return order != 0 ? order : (a->n_bytes > b->n_bytes) - (a->n_bytes < b->n_bytes);
}

int softcount_order_words(const uint8_t *bytes, const ptrdiff_t *ends, ptrdiff_t n_words, int32_t *order) {
    if (n_words == 0) return 1;
    struct ranked *ranked = (struct ranked *)malloc(2 * (size_t)n_words * sizeof *ranked);
    struct rest *rests = (struct rest *)malloc((size_t)n_words * sizeof *rests);
    if (ranked && rests) {
        for (ptrdiff_t w = 0, at = 0; w < n_words; at = ends[w++]) {
            ranked[w].start = start_of(bytes + at, ends[w] - at);
            ranked[w].word = (int32_t)w;
        }
        const struct ranked *sorted = sort_by_start(ranked, ranked + n_words, n_words);
        for (ptrdiff_t first = 0, last; first < n_words; first = last) {
            for (last = first; last < n_words && sorted[last].start == sorted[first].start; last++) {
                int32_t word = sorted[last].word;
                ptrdiff_t at = (word == 0 ? 0 : ends[word - 1]) + 8;
                struct rest rest = {bytes + at, ends[word] - at, word};
                rests[last] = rest;
            }
            if (last - first > 1) qsort(rests + first, (size_t)(last - first), sizeof *rests, compare_rests);
        }
        for (ptrdiff_t i = 0; i < n_words; i++) order[i] = rests[i].word;
    }
    int done = ranked && rests;
    free(ranked);
    free(rests);
    return done;
}
