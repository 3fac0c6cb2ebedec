/* Counting words in text. */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

/* ---- the vocabulary ---- */

struct vocabulary *softcount_new_vocabulary(uint64_t seed) {
    struct vocabulary *words = (struct vocabulary *)calloc(1, sizeof *words);
    if (!words) return NULL;
    words->seed = seed;
    words->n_slots = 1024;
    words->slots = (struct slot *)calloc(words->n_slots, sizeof *words->slots);
    if (words->slots) return words;
    free(words);
    return NULL;
}

void softcount_free_vocabulary(struct vocabulary *words) {
    free(words->slots);
    free(words->ends);
    free(words->bytes);
    free(words);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

/* Up to eight bytes in one number, without a loop: the halves may overlap, in bytes that are the same. */
static uint64_t pack(const uint8_t *word, ptrdiff_t n) {
    uint64_t packed = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n >= 4) {
        uint32_t left, right;
        memcpy(&left, word, 4);
        memcpy(&right, word + n - 4, 4);
        return left | (uint64_t)right << (8 * (n - 4));
    }
    if (n > 0) packed = word[0] | (uint64_t)word[n / 2] << (8 * (n / 2)) | (uint64_t)word[n - 1] << (8 * (n - 1));
#else
    memcpy(&packed, word, (size_t)n);
#endif
    return packed;
}

/* What identifies a word within the table, besides its length: up to eight bytes the word itself, so that nothing but
 * the slot has to be read to know it again, else a hash of all its bytes. The seed differs in every process, so that
 * nobody can prepare a text whose words all fall into one slot. */
static uint64_t key_of(uint64_t seed, const uint8_t *word, ptrdiff_t n) {
    uint64_t key = 0, hash = seed;
    if (n <= 8) return pack(word, n);
    for (ptrdiff_t i = 0; i + 8 < n; i += 8) {
        memcpy(&key, word + i, 8);
        hash = mix(hash, key);
    }
    memcpy(&key, word + n - 8, 8);
    return mix(hash, key);
}

/* The search for a word begins at the slot that this is the number of, modulo their number. */
static uint64_t hash_of(const struct vocabulary *words, uint64_t key, ptrdiff_t n_bytes) {
    return mix(mix(words->seed ^ (uint64_t)n_bytes, key), words->seed);
}

static ptrdiff_t word_start(const struct vocabulary *words, ptrdiff_t number) {
    return number == 0 ? 0 : words->ends[number - 1];
}

/* Whether the slot, which is not empty, is that of the word. */
static int is_its_slot(const struct vocabulary *words, const struct slot *slot, uint64_t key, const uint8_t *word,
                       ptrdiff_t n_bytes) {
    if (slot->key != key || slot->n_bytes != (uint32_t)n_bytes) return 0;
    if (n_bytes <= 8) return 1;
    ptrdiff_t start = word_start(words, (ptrdiff_t)slot->number - 1);
    return memcmp(words->bytes + start, word, (size_t)n_bytes) == 0;
}

/* Twice the slots, so that at most half of them are taken. */
static int grow_slots(struct vocabulary *words) {
    struct slot *before = words->slots;
    uint64_t n_before = words->n_slots;
    struct slot *slots = (struct slot *)calloc(2 * n_before, sizeof *slots);
    if (!slots) return 0;
    words->slots = slots;
    words->n_slots = 2 * n_before;
    for (uint64_t b = 0; b < n_before; b++) {
        if (before[b].number == 0) continue;
        uint64_t at = hash_of(words, before[b].key, before[b].n_bytes) & (words->n_slots - 1);
        while (slots[at].number != 0) at = (at + 1) & (words->n_slots - 1);
        slots[at] = before[b];
    }
    free(before);
    return 1;
}

static int make_room(struct vocabulary *words, ptrdiff_t n_bytes) {
    if (2 * (uint64_t)(words->n_words + 1) > words->n_slots && !grow_slots(words)) return 0;
    if (words->n_words == words->word_room) {
        size_t room = 2 * (size_t)words->word_room + 512;
        ptrdiff_t *ends = (ptrdiff_t *)realloc(words->ends, room * sizeof *ends);
        if (!ends) return 0;
        words->ends = ends;
        words->word_room = (ptrdiff_t)room;
    }
    ptrdiff_t used = word_start(words, words->n_words);
    if (used + n_bytes > words->byte_room) {
        size_t room = 2 * (size_t)words->byte_room + (size_t)n_bytes + 4096;
        uint8_t *bytes = (uint8_t *)realloc(words->bytes, room);
        if (!bytes) return 0;
        words->bytes = bytes;
        words->byte_room = (ptrdiff_t)room;
    }
    return 1;
}

/* The number of a word whose key and hash are known. */
static ptrdiff_t number_of(struct vocabulary *words, const uint8_t *word, ptrdiff_t n_bytes, uint64_t key,
                           uint64_t hash, int add) {
    uint64_t at = hash & (words->n_slots - 1);
    for (; words->slots[at].number != 0; at = (at + 1) & (words->n_slots - 1))
        if (is_its_slot(words, &words->slots[at], key, word, n_bytes)) return (ptrdiff_t)words->slots[at].number - 1;
    if (!add) return -1;
    if (words->n_words == INT32_MAX || n_bytes > INT32_MAX || !make_room(words, n_bytes)) return -2;
    /* The slots may have moved. */
    for (at = hash & (words->n_slots - 1); words->slots[at].number != 0;) at = (at + 1) & (words->n_slots - 1);
    ptrdiff_t number = words->n_words++, start = word_start(words, number);
    memcpy(words->bytes + start, word, (size_t)n_bytes);
    words->ends[number] = start + n_bytes;
    struct slot slot = {key, (uint32_t)number + 1, (uint32_t)n_bytes};
    words->slots[at] = slot;
    return number;
}

ptrdiff_t softcount_word_number(struct vocabulary *words, const uint8_t *word, ptrdiff_t n_bytes, int add) {
    uint64_t key = key_of(words->seed, word, n_bytes);
    return number_of(words, word, n_bytes, key, hash_of(words, key, n_bytes), add);
}

/* ---- the text ---- */

/* The lower case of a byte, or 0 if it is not a word character of ASCII. */
static uint8_t ascii_word[256];

void softcount_prepare_tokens(void) {
    for (int byte = '0'; byte <= '9'; byte++) ascii_word[byte] = (uint8_t)byte;
    for (int byte = 'a'; byte <= 'z'; byte++) ascii_word[byte] = ascii_word[byte - 'a' + 'A'] = (uint8_t)byte;
    ascii_word['_'] = '_';
}

/* The code point that begins at text[at], and how many bytes it has; -1 where the bytes are no character. */
static int32_t decode(const uint8_t *text, ptrdiff_t at, ptrdiff_t end, ptrdiff_t *n_bytes) {
    uint8_t first = text[at];
    ptrdiff_t n = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    *n_bytes = 1;
    if (first < 0xc2 || first > 0xf4 || at + n > end) return -1;
    if (n == 2 && (text[at + 1] & 0xc0) == 0x80) { /* most letters of most alphabets */
        *n_bytes = 2;
        return (first & 0x1f) << 6 | (text[at + 1] & 0x3f);
    }
    int32_t code = first & (0x7f >> n);
    for (ptrdiff_t i = 1; i < n; i++) {
        if ((text[at + i] & 0xc0) != 0x80) return -1;
        code = code << 6 | (text[at + i] & 0x3f);
    }
    if (code >= N_CODE_POINTS) return -1;
    *n_bytes = n;
    return code;
}

/* Append a code point as UTF-8; the answer is how many bytes it took. */
static ptrdiff_t encode(uint32_t code, uint8_t *to) {
    if (code < 0x80) {
        to[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (uint8_t)(0xc0 | code >> 6);
        to[1] = (uint8_t)(0x80 | (code & 0x3f));
        return 2;
    }
    ptrdiff_t n = code < 0x10000 ? 3 : 4;
    for (ptrdiff_t i = n - 1; i > 0; i--, code >>= 6) to[i] = (uint8_t)(0x80 | (code & 0x3f));
    to[0] = (uint8_t)((0xf00 >> n & 0xff) | code);
    return n;
}

/* A word in lower case, with its key and hash once it is complete. */
struct word {
    uint8_t *bytes;
    ptrdiff_t n_bytes, n_characters;
    uint64_t key, hash;
};

/* Read the word characters from text[at] on. The answer is where the character after the one that ended the word
 * begins: it is no word character itself. */
static ptrdiff_t read_word(const struct documents *documents, ptrdiff_t at, ptrdiff_t end, struct word *word) {
    const uint8_t *text = documents->text;
    word->n_bytes = word->n_characters = 0;
    while (at < end) {
        uint8_t letter = ascii_word[text[at]];
        if (letter != 0) {
            word->bytes[word->n_bytes++] = letter;
            at++;
        } else if (text[at] < 0x80) {
            return at + 1;
        } else {
            ptrdiff_t n_bytes;
            int32_t code = decode(text, at, end, &n_bytes);
            uint32_t character = code >= 0 && documents->characters ? documents->characters[code] : 0;
            at += n_bytes;
            if (!(character & IS_WORD)) return at;
            word->n_bytes += encode(character & ~IS_WORD, word->bytes + word->n_bytes);
        }
        word->n_characters++;
    }
    return at;
}

/* Read up to WORDS_AHEAD words, and ask for the memory in which each will be looked up: by the time the last one is
 * read, the first one's is there. */
enum { WORDS_AHEAD = 32 };

static ptrdiff_t read_words(const struct vocabulary *words, const struct documents *documents, ptrdiff_t *at,
                            ptrdiff_t end, uint8_t *room, struct word *word) {
    ptrdiff_t n = 0;
    while (*at < end && n < WORDS_AHEAD) {
        word[n].bytes = room;
        *at = read_word(documents, *at, end, &word[n]);
        if (word[n].n_characters < 2) continue;
        word[n].key = key_of(words->seed, word[n].bytes, word[n].n_bytes);
        word[n].hash = hash_of(words, word[n].key, word[n].n_bytes);
#if defined(__GNUC__) || defined(__clang__)
        __builtin_prefetch(&words->slots[word[n].hash & (words->n_slots - 1)]);
#endif
        room += word[n++].n_bytes;
    }
    return n;
}

/* One entry for each different word of a row. `last_entry` remembers where a word's latest entry is; whether that is
 * in this row, and is this word's, can be seen from the entry itself. */
struct row {
    struct token_counts *out;
    ptrdiff_t start, n;
};

static void count_word(struct row *row, int32_t *last_entry, ptrdiff_t number) {
    ptrdiff_t entry = last_entry[number];
    if (entry >= row->start && entry < row->n && row->out->numbers[entry] == (int32_t)number) {
        row->out->counts[entry]++;
        return;
    }
    row->out->numbers[row->n] = (int32_t)number;
    row->out->counts[row->n] = 1;
    last_entry[number] = (int32_t)row->n++;
}

/* As long as the vocabulary has room for words. */
static int32_t *fit_entries(int32_t *last_entry, ptrdiff_t *room, const struct vocabulary *words) {
    if (words->n_words <= *room && last_entry) return last_entry;
    ptrdiff_t wanted = words->n_words > words->word_room ? words->n_words : words->word_room;
    int32_t *longer = (int32_t *)realloc(last_entry, ((size_t)wanted + 1) * sizeof *longer);
    if (!longer) {
        free(last_entry);
        return NULL;
    }
    memset(longer + *room, 0, (size_t)(wanted + 1 - *room) * sizeof *longer);
    *room = wanted;
    return longer;
}

ptrdiff_t softcount_count_tokens(struct vocabulary *words, const struct documents *documents, int add,
                                 struct token_counts *out) {
    ptrdiff_t n_bytes = documents->n == 0 ? 0 : (ptrdiff_t)documents->ends[documents->n - 1], room = 0;
    /* In lower case a character of two bytes may have three. */
    uint8_t *letters = (uint8_t *)malloc(2 * (size_t)n_bytes + 4);
    int32_t *last_entry = fit_entries(NULL, &room, words);
    struct row row = {out, 0, 0};
    int failed = !letters || !last_entry;
    for (ptrdiff_t i = 0, at = 0; i < documents->n && !failed; i++) {
        row.start = row.n;
        while (at < documents->ends[i] && !failed) {
            struct word word[WORDS_AHEAD];
            ptrdiff_t n = read_words(words, documents, &at, (ptrdiff_t)documents->ends[i], letters, word);
            for (ptrdiff_t w = 0; w < n && !failed; w++) {
                ptrdiff_t number = number_of(words, word[w].bytes, word[w].n_bytes, word[w].key, word[w].hash, add);
                if (number >= room) last_entry = fit_entries(last_entry, &room, words);
                failed = number == -2 || !last_entry;
                if (number >= 0 && !failed) count_word(&row, last_entry, number);
            }
        }
        out->row_ends[i] = row.n;
    }
    free(letters);
    free(last_entry);
    return failed ? -2 : row.n;
}

/* Merge sort, without branches that depend on the order: runs of 1, 2, 4 … entries are merged into runs of twice the
 * length, to and fro between two arrays. The answer is the array that holds the result. */
static uint64_t *sort_entries(uint64_t *from, uint64_t *to, ptrdiff_t n) {
    for (ptrdiff_t run = 1; run < n; run *= 2) {
        for (ptrdiff_t start = 0; start < n; start += 2 * run) {
            ptrdiff_t middle = start + run < n ? start + run : n, end = start + 2 * run < n ? start + 2 * run : n;
            ptrdiff_t left = start, right = middle, k = start;
            while (left < middle && right < end) {
                uint64_t a = from[left], b = from[right];
                ptrdiff_t take_left = a <= b;
                to[k++] = take_left ? a : b;
                left += take_left;
                right += 1 - take_left;
            }
            memcpy(to + k, from + left, (size_t)(middle - left) * sizeof *to);
            memcpy(to + k + middle - left, from + right, (size_t)(end - right) * sizeof *to);
        }
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

void softcount_sort_rows(const int64_t *indptr, ptrdiff_t n_rows, const int32_t *numbers, const int32_t *counts,
                         const int32_t *column_of, int32_t *indices, int64_t *data, uint64_t *room) {
    for (ptrdiff_t i = 0; i < n_rows; i++) {
        ptrdiff_t start = (ptrdiff_t)indptr[i], n = (ptrdiff_t)indptr[i + 1] - start;
        for (ptrdiff_t p = 0; p < n; p++)
            room[p] = (uint64_t)(uint32_t)column_of[numbers[start + p]] << 32 | (uint32_t)counts[start + p];
        const uint64_t *sorted = sort_entries(room, room + n, n);
        for (ptrdiff_t p = 0; p < n; p++) {
            indices[start + p] = (int32_t)(sorted[p] >> 32);
            data[start + p] = (int64_t)(uint32_t)sorted[p];
        }
    }
}
