/* Counting words in text: UTF-8 bytes to numbers of words and their counts, document by document.
 *
 * A word is a run of at least two word characters in lower case, as the regular expression (?u)\b\w\w+\b finds in
 * lower-cased text. What is a word character outside ASCII, and what its lower case, is told by a table that Python
 * makes, so that both are the same as in its `re` and `str.lower`. */
#ifndef SOFTCOUNT_TOKENS_H
#define SOFTCOUNT_TOKENS_H

#include <stddef.h>
#include <stdint.h>

enum { N_CODE_POINTS = 0x110000 };

/* A hash table from words to their numbers 0, 1, 2 … in order of appearance. */
struct vocabulary {
    uint64_t seed;
    struct slot {
        uint64_t key;    /* the word itself, if it has at most eight bytes, else its hash */
        uint32_t number; /* of the word, plus 1; 0: the slot is empty */
        uint32_t n_bytes;
    } * slots;
    uint64_t n_slots; /* a power of two */
    ptrdiff_t n_words, word_room, byte_room;
    ptrdiff_t *ends; /* word number w is bytes[ends[w - 1]] … bytes[ends[w] - 1] */
    uint8_t *bytes;
    int readers, writers; /* calls in progress; guarded by the GIL */
};

/* Some documents, one after the other. For each code point, `characters` has that of its lower case, plus IS_WORD if
 * the lower case is a word character; it is NULL if all text is ASCII. */
struct documents {
    const uint8_t *text;
    const uint32_t *characters;
    const int64_t *ends;
    ptrdiff_t n;
};

#define IS_WORD 0x80000000u

/* Where the words of the documents are written: document i has the entries row_ends[i - 1] … row_ends[i] - 1. There
 * must be room for one entry per three bytes of text, plus one per document. */
struct token_counts {
    int32_t *numbers, *counts;
    int64_t *row_ends;
};

/* Fill the table of ASCII letters; once, before anything else. */
void softcount_prepare_tokens(void);

struct vocabulary *softcount_new_vocabulary(uint64_t seed);
void softcount_free_vocabulary(struct vocabulary *words);

/* The number of a word; -1 if it is not there and not to be added, -2 without memory. */
ptrdiff_t softcount_word_number(struct vocabulary *words, const uint8_t *word, ptrdiff_t n_bytes, int add);

/* Count the words of all documents; the number of entries, or -2 without memory. */
ptrdiff_t softcount_count_tokens(struct vocabulary *words, const struct documents *documents, int add,
                                 struct token_counts *out);

/* Rename the words of each row and sort the row by the new numbers. `room` is as long as the longest row, twice. */
void softcount_sort_rows(const int64_t *indptr, ptrdiff_t n_rows, const int32_t *numbers, const int32_t *counts,
                         const int32_t *column_of, int32_t *indices, int64_t *data, uint64_t *room);

#endif
