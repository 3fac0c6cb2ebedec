/* From bytes to lists of the places where they are not zero, eight bytes at a time and without branches.
 *
 * Eight bytes are squeezed into the eight bits of a mask, and a table says for each of the 256 masks which bits are
 * set and how many. All eight places of the table's row are copied, the list only grows by as many as are set. */
#ifndef SOFTCOUNT_BYTE_LISTS_H
#define SOFTCOUNT_BYTE_LISTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LIST_SLACK = 8 }; /* what lists must have room for beyond their last entry */

struct set_bits {
    int32_t place[8];
};
extern struct set_bits softcount_set_bits[256];
extern uint8_t softcount_n_set_bits[256];

/* Fill the table; once, before any kernel runs. */
void softcount_prepare_byte_lists(void);

/* Eight bytes as one number whose lowest byte is the first; missing ones are zero. */
static inline uint64_t eight_bytes(const uint8_t *bytes, ptrdiff_t n) {
    uint64_t eight = 0;
    if (n >= 8) memcpy(&eight, bytes, 8);
    else memcpy(&eight, bytes, (size_t)n);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    eight = __builtin_bswap64(eight);
#endif
    return eight;
}

/* Not zero if any of the bytes is neither 0 nor 1. */
static inline uint64_t not_one(uint64_t bytes) { return bytes & 0xfefefefefefefefeu; }

/* Bit i of the mask says whether byte i is not zero. */
static inline unsigned nonzero_mask(uint64_t eight) {
    const uint64_t low_bits = 0x7f7f7f7f7f7f7f7fu;
    uint64_t high_bit_if_nonzero = ((eight & low_bits) + low_bits) | eight;
    uint64_t one_if_nonzero = (high_bit_if_nonzero >> 7) & 0x0101010101010101u;
    return (unsigned)((one_if_nonzero * 0x0102040810204080u) >> 56);
}

/* Append first + i to the list for each bit i of the mask; the answer is the list's new length. */
static inline ptrdiff_t append_set_bits(unsigned mask, ptrdiff_t first, int32_t *list, ptrdiff_t n) {
    const int32_t *place = softcount_set_bits[mask].place;
    for (int i = 0; i < 8; i++) list[n + i] = (int32_t)first + place[i];
    return n + softcount_n_set_bits[mask];
}

/* An 8 x 8 square of bits, row r in byte r, reflected so that row r becomes bit r of each byte. */
static inline uint64_t turn_bits(uint64_t square) {
    uint64_t swap = (square ^ (square >> 7)) & 0x00aa00aa00aa00aau;
    square ^= swap ^ (swap << 7);
    swap = (square ^ (square >> 14)) & 0x0000cccc0000ccccu;
    square ^= swap ^ (swap << 14);
    swap = (square ^ (square >> 28)) & 0x00000000f0f0f0f0u;
    return square ^ swap ^ (swap << 28);
}

#endif
