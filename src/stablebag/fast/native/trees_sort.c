/* Equal values of a feature in a node: where they are, and the order in which scikit-learn's sort leaves them.
 *
 * That sort is an introsort with three-way partitions. The order before it only affects the order among equal values.
 * Here, the sorted order is already known: parts without equal values of different rows need no sorting, small parts
 * are sorted by putting each row at the next place for its value, and the result of a partition is computed without
 * its swaps.
 */
#include <string.h>

#include "trees.h"

/* Find the splits between different values, or between rows if there are no values. Store the rank of each row's value,
 * where each rank starts, and the number of ties before each place. Return the number of splits. */
int32_t find_bounds(const Bag *bag, const float *values, const int32_t *order, int32_t n, int32_t *n_ties) {
    int32_t *bounds = bag->bounds, *rank = bag->rank, *starts = bag->starts, *ties = bag->ties_before;
    int32_t n_bounds = 0, current = 0, tied = 0, last = order[0];
    *n_ties = 0;
    if (!values) {
        for (int32_t p = 1; p < n; p++) {
            bounds[n_bounds] = p;
            n_bounds += order[p] != order[p - 1];
        }
        return n_bounds;
    }
    float before = values[last];
    rank[last] = starts[0] = ties[0] = 0;
    for (int32_t p = 1; p < n; p++) {
        int32_t id = order[p];
        float value = values[id];
        bounds[n_bounds] = p;
        n_bounds += value > before + bag->same_value;
        starts[current + 1] = p;
        current += value > before;
        tied += (value == before) & (id != last);
        rank[id] = current;
        ties[p] = tied;
        before = value;
        last = id;
    }
    starts[current + 1] = n;
    *n_ties = tied;
    return n_bounds;
}

/* A key has the rank of a row's value in its upper half and the row in its lower. */
static inline uint32_t rank_of(uint64_t key) { return (uint32_t)(key >> 32); }

static inline void swap(uint64_t *keys, int32_t i, int32_t j) {
    uint64_t key = keys[i];
    keys[i] = keys[j];
    keys[j] = key;
}

static void sift(uint64_t *keys, int32_t root, int32_t end) {
    for (;;) {
        int32_t child = root * 2 + 1, largest = root;
        if (child < end && rank_of(keys[largest]) < rank_of(keys[child])) largest = child;
        if (child + 1 < end && rank_of(keys[largest]) < rank_of(keys[child + 1])) largest = child + 1;
        if (largest == root) return;
        swap(keys, root, largest);
        root = largest;
    }
}

static void heap_sort(uint64_t *keys, int32_t n) {
    for (int32_t root = (n - 2) / 2; root >= 0; root--) sift(keys, root, n);
    for (int32_t end = n - 1; end > 0; end--) {
        swap(keys, 0, end);
        sift(keys, 0, end);
    }
}

static uint32_t median(const uint64_t *keys, int32_t n) {
    uint32_t a = rank_of(keys[0]), b = rank_of(keys[n / 2]), c = rank_of(keys[n - 1]);
    if (a < b) return b < c ? b : a < c ? c : a;
    return b < c ? (a < c ? a : c) : b;
}

/* One of two values without a branch, because the choice is unpredictable. */
static inline uint64_t pick(int first, uint64_t a, uint64_t b) { return b ^ ((a ^ b) & -(uint64_t)first); }

static inline void put_rows(const uint64_t *keys, int32_t n, int32_t *to) {
    for (int32_t i = 0; i < n; i++) to[i] = (int32_t)(uint32_t)keys[i];
}

/* Partition the keys: those below the pivot go to the front of `to`, those above it behind `n_below + n_equal` others,
 * and rows with the pivot's value to their final places.
 *
 * scikit-learn looks at keys from the front. It swaps a key above the pivot with the last unprocessed key, which is
 * next. So these strays leave places in front that are filled from the back, and fill the gaps in the back themselves.
 * It swaps a key below the pivot with the first equal one, which thereby becomes the last of them. */
static void part(const Bag *bag, const uint64_t *keys, int32_t n, uint32_t pivot, int32_t n_below, int32_t n_equal,
                 uint64_t *to, int32_t *rows) {
    uint64_t *strays = bag->strays, *back = bag->back, *ring = bag->ring;
    const int32_t front = n_below + n_equal;
    int32_t n_strays = 0, n_back = 0, used = 0, below = 0, head = 0, tail = 0;
    if (front < n) {
        for (int32_t i = 0; i <= front; i++) {
            strays[n_strays] = keys[i];
            n_strays += rank_of(keys[i]) > pivot;
        }
        to[n - 1] = strays[0];
        for (int32_t i = n - 1; i > front; i--) {
            uint64_t key = keys[i];
            int32_t fits = rank_of(key) <= pivot;
            back[n_back] = key;
            n_back += fits;
            to[i - 1] = pick(fits, strays[n_back], key);
        }
        back[n_back] = keys[front];
    }
    for (int32_t i = 0; i < front; i++) {
        int32_t stray = rank_of(keys[i]) > pivot;
        uint64_t key = pick(stray, back[used], keys[i]);
        used += stray;
        int32_t less = rank_of(key) < pivot, turns = less & (tail > head);
        ring[tail] = pick(less, ring[head], key);
        tail += turns | !less;
        head += turns;
        to[below] = key;
        below += less;
    }
    put_rows(ring + head, n_equal, rows);
}

/* Sort keys whose final places start at `at`. */
static void sort(const Bag *bag, uint64_t *keys, uint64_t *other, int32_t n, int32_t at, int32_t depth,
                 const int32_t *order, int32_t *after) {
    const int32_t *ties = bag->ties_before, *starts = bag->starts;
    while (n > 0) {
        if (ties[at + n - 1] == ties[at]) {
            memcpy(after + at, order + at, sizeof(int32_t) * (size_t)n);
            return;
        }
        if (n <= bag->few) { /* insertion keeps the order of equal values */
            for (int32_t i = 0; i < n; i++) after[bag->next[rank_of(keys[i])]++] = (int32_t)(uint32_t)keys[i];
            return;
        }
        if (depth-- <= 0) {
            heap_sort(keys, n);
            put_rows(keys, n, after + at);
            return;
        }
        uint32_t pivot = median(keys, n);
        int32_t n_below = starts[pivot] - at, n_equal = starts[pivot + 1] - starts[pivot], front = n_below + n_equal;
        part(bag, keys, n, pivot, n_below, n_equal, other, after + at + n_below);
        sort(bag, other, keys, n_below, at, depth, order, after);
        uint64_t *rest = other + front;
        other = keys + front;
        keys = rest;
        at += front;
        n -= front;
    }
}

/* Fill in the order in which scikit-learn's sort leaves samples that are in the order `before`. `find_bounds` must have
 * been called for the feature. */
void sort_ties(const Bag *bag, const int32_t *before, const int32_t *order, int32_t n, int32_t *after) {
    const int32_t *rank = bag->rank;
    int32_t *next = bag->next, depth = 0;
    memcpy(next, bag->starts, sizeof(int32_t) * (size_t)(rank[order[n - 1]] + 1));
    if (n <= bag->few) {
        for (int32_t i = 0; i < n; i++) after[next[rank[before[i]]]++] = before[i];
        return;
    }
    for (int32_t i = 0; i < n; i++)
        bag->keys[0][i] = (uint64_t)(uint32_t)rank[before[i]] << 32 | (uint32_t)before[i];
    while (n >> (depth + 1)) depth++;
    sort(bag, bag->keys[0], bag->keys[1], n, 0, 2 * depth, order, after);
}
