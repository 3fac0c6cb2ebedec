/* The table of set bits. */
#include "byte_lists.h"

struct set_bits softcount_set_bits[256];
uint8_t softcount_n_set_bits[256];

void softcount_prepare_byte_lists(void) {
    for (int mask = 0; mask < 256; mask++) {
        uint8_t n = 0;
        for (int bit = 0; bit < 8; bit++)
            if (mask >> bit & 1) softcount_set_bits[mask].place[n++] = bit;
        softcount_n_set_bits[mask] = n;
    }
}
