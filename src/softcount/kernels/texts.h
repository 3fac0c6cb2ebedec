/* From the bytes of a table to its cells, and from the words of a vocabulary to their order. */
#ifndef SOFTCOUNT_TEXTS_H
#define SOFTCOUNT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

/* How many lines the bytes hold, the last of which need not end in a line feed; -1 if they take more than a look for
 * delimiters: a line with another number of cells, a quotation mark, a zero byte, a carriage return inside a line. */
ptrdiff_t softcount_count_lines(const uint8_t *text, ptrdiff_t n_bytes, uint8_t delimiter, ptrdiff_t n_cells);

/* The place of a byte in text[at .. end), or end. */
ptrdiff_t softcount_find_byte(const uint8_t *text, ptrdiff_t at, ptrdiff_t end, uint8_t byte);

/* Write the numbers of the words in the order of their bytes, which is that of their code points. Word w is
 * bytes[ends[w - 1]] ... bytes[ends[w] - 1]; no two are equal, and none holds a zero byte. The answer is 0 without
 * memory. */
int softcount_order_words(const uint8_t *bytes, const ptrdiff_t *ends, ptrdiff_t n_words, int32_t *order);

#endif
