/* resmap/scatter.c - the order of hashed pieces: a pseudorandom permutation of 0 .. total - 1 that is cheap to compute in both
 * directions. It is a Feistel network over pairs of numbers below (high, low), where high * low is slightly more than the
 * total. A result of total or more goes through the network again.
 * Source: Black and Rogaway, Ciphers with arbitrary finite domains (CT-RSA 2002), methods 2 and 3; keys: the finalizer of
 * SplitMix64, Steele, Lea and Flood, Fast splittable pseudorandom number generators (OOPSLA 2014). */
#include "base/check.h"
#include "resmap/parts.h"

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static int64_t square_root_up(int64_t n)
{
    int64_t low = 1, high = INT64_C(1) << 31;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (middle * middle >= n)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void dcli_scatter_bind(int64_t seed, int64_t total, dcli_scatter *scatter_out)
{
    scatter_out->total = total;
    scatter_out->high = square_root_up(total);
    scatter_out->low = dcli_ceil_div(total, scatter_out->high);
    scatter_out->by_low = dcli_divisor_of(scatter_out->low);
    for (uint64_t r = 0; r < 4; r++)
        scatter_out->key[r] = mix((4 * (uint64_t)seed + r + 1) * GOLDEN);
}

/* The round function of the Feistel network: a pseudorandom number below `end`, from x and a key. */
static int64_t below(int64_t x, uint64_t key, int64_t end)
{
    return (int64_t)(((((uint64_t)x + key) * GOLDEN) >> 32) * (uint64_t)end >> 32);
}

static int64_t add(int64_t x, int64_t by, int64_t end) { return x + by >= end ? x + by - end : x + by; }

static int64_t subtract(int64_t x, int64_t by, int64_t end) { return x - by < 0 ? x - by + end : x - by; }

int64_t dcli_scatter_position(const dcli_scatter *s, int64_t number)
{
    do {
        int64_t high = dcli_divided(number, s->by_low), low = number - high * s->low;
        high = add(high, below(low, s->key[0], s->high), s->high);
        low = add(low, below(high, s->key[1], s->low), s->low);
        high = add(high, below(low, s->key[2], s->high), s->high);
        low = add(low, below(high, s->key[3], s->low), s->low);
        number = high * s->low + low;
    } while (number >= s->total);
    return number;
}

int64_t dcli_scatter_number(const dcli_scatter *s, int64_t position)
{
    do {
        int64_t high = dcli_divided(position, s->by_low), low = position - high * s->low;
        low = subtract(low, below(high, s->key[3], s->low), s->low);
        high = subtract(high, below(low, s->key[2], s->high), s->high);
        low = subtract(low, below(high, s->key[1], s->low), s->low);
        high = subtract(high, below(low, s->key[0], s->high), s->high);
        position = high * s->low + low;
    } while (position >= s->total);
    return position;
}
