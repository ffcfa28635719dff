/* The two children of a node: their rows in scikit-learn's order, and their statistics. */
#include <string.h>

#include "trees.h"

/* Move the samples that go left to the front, in the order that scikit-learn's swaps produce. It swaps a sample that
 * does not go left with the last unprocessed one, which it looks at next. So these strays leave places in front that
 * are filled from the back, and fill the gaps in the back themselves. */
static void part_samples(Bag *bag, const int32_t *from, int32_t n, int32_t n_left, int32_t *to) {
    const uint8_t *goes_left = bag->goes_left;
    int32_t *strays = bag->spare, *back = bag->spare + n + 1;
    int32_t n_strays = 0, n_back = 0, used = 0;
    for (int32_t i = 0; i <= n_left; i++) {
        strays[n_strays] = from[i];
        n_strays += !goes_left[from[i]];
    }
    to[n - 1] = strays[0];
    for (int32_t i = n - 1; i > n_left; i--) {
        int32_t id = from[i], left = goes_left[id];
        back[n_back] = id;
        n_back += left;
        int32_t stray = strays[n_back];
        to[i - 1] = left ? stray : id;
    }
    back[n_back] = from[n_left];
    for (int32_t i = 0; i < n_left; i++) {
        int32_t id = from[i], left = goes_left[id], other = back[used];
        to[i] = left ? id : other;
        used += !left;
    }
}

static void add_up(const Bag *bag, const int32_t *samples, int32_t n, Waiting *node) {
    double sum = 0.0, squares = 0.0;
    for (int32_t i = 0; i < n; i++) {
        double y = bag->y[samples[i]];
        sum += y;
        squares += y * y;
    }
    node->sum = sum;
    node->squares = squares;
}

/* Sums of the children, and impurities from the samples in scikit-learn's order. */
static void measure_sums(const Bag *bag, const Waiting *node, const int32_t *samples, int32_t n_left,
                         Waiting children[2]) {
    int32_t n = node->end - node->start, n_right = n - n_left;
    add_up(bag, samples, n_left, children);
    add_up(bag, samples + n_left, n_right, children + 1);
    double sum_left = children[0].sum, squares_left = children[0].squares;
    if (n_left > n_right) {
        sum_left = node->sum;
        for (int32_t i = n - 1; i >= n_left; i--) sum_left -= bag->y[samples[i]];
    }
    double mean_left = sum_left / n_left, mean_right = (node->sum - sum_left) / n_right;
    children[0].impurity = squares_left / n_left - mean_left * mean_left;
    children[1].impurity = (node->squares - squares_left) / n_right - mean_right * mean_right;
}

/* Counts of the children; those of the right child overwrite the node's. */
static void measure_classes(const Bag *bag, const int32_t *order, int32_t n, int32_t n_left, Waiting children[2],
                            double *counts[2]) {
    double *moved = counts[0];
    int few_left = n_left <= n - n_left;
    memset(moved, 0, sizeof(double) * (size_t)bag->k);
    for (int32_t i = few_left ? 0 : n_left; i < (few_left ? n_left : n); i++) moved[bag->code[order[i]]] += 1.0;
    for (int32_t c = 0; c < bag->k; c++) {
        double here = moved[c], others = counts[1][c] - here;
        counts[0][c] = few_left ? here : others;
        counts[1][c] = few_left ? others : here;
    }
    children[0].impurity = impurity_of(bag, counts[0], n_left);
    children[1].impurity = impurity_of(bag, counts[1], n - n_left);
}

/* Mark the rows that go left; return how many distinct ones there are. */
static int32_t send(Bag *bag, const int32_t *order, int32_t n, int32_t n_left, int copies) {
    for (int32_t i = 0; i < n_left; i++) bag->goes_left[order[i]] = 1;
    for (int32_t i = n_left; i < n; i++) bag->goes_left[order[i]] = 0;
    if (!copies) return n_left;
    int32_t n_distinct = 1;
    for (int32_t i = 1; i < n_left; i++) n_distinct += order[i] != order[i - 1];
    return n_distinct;
}

/* Fill in the children of a node. Its counts are counts[1], which become those of the right child. */
void make_children(Bag *bag, const Waiting *node, const Here *here, const Best *best, const int32_t *samples,
                   Waiting children[2], double *counts[2]) {
    const int32_t *order = order_of(bag, here, best->feature), n_left = best->n_left, middle = node->start + n_left;
    int32_t n_distinct = send(bag, order, here->n, n_left, here->copies), depth = node->depth + 1;
    children[0] = (Waiting){node->start, middle, depth, -1, node->n_constant, n_distinct, 0, 0, 0};
    children[1] = (Waiting){middle, node->end, depth, -1, node->n_constant, node->n_distinct - n_distinct, 0, 0, 0};
    if (bag->k) {
        measure_classes(bag, order, here->n, n_left, children, counts);
    } else {
        if (bag->kept) part_samples(bag, samples, here->n, n_left, bag->samples + node->start);
        measure_sums(bag, node, bag->kept ? bag->samples + node->start : order, n_left, children);
    }
}

static void deal(const int32_t *from, int32_t n, int32_t n_left, const uint8_t *goes_left, int32_t *to) {
    int32_t left = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t id = from[i], yes = goes_left[id], other = n_left + i - left;
        to[other ^ ((other ^ left) & -yes)] = id;
        left += yes;
    }
}

static void deal_left(const int32_t *from, int32_t n, const uint8_t *goes_left, int32_t *to) {
    for (int32_t i = 0, left = 0; i < n; i++) {
        to[left] = from[i];
        left += goes_left[from[i]];
    }
}

static void deal_right(const int32_t *from, int32_t n, const uint8_t *goes_left, int32_t *to) {
    for (int32_t i = n - 1, right = n - 1; i >= 0; i--) {
        to[right] = from[i];
        right -= !goes_left[from[i]];
    }
}

/* Split the marked rows of a feature; a single one has no other row with the same value. */
static void deal_marks(Bag *bag, const int32_t *from, int32_t *to, Marked *left, Marked *right) {
    int32_t count = right->count, n_left = 0, n_right = 0;
    for (int32_t i = 0; i < count; i++) n_left += bag->goes_left[from[i]];
    deal(from, count, n_left, bag->goes_left, to);
    n_right = count - n_left;
    *left = (Marked){right->at, n_left > 1 ? n_left : 0};
    *right = (Marked){right->at + n_left, n_right > 1 ? n_right : 0};
}

/* Split the orders of all features that are not constant between the children, except for leaves. The node's marked
 * rows become those of the right child. */
void deal_out(Bag *bag, const Waiting *node, const Here *here, int32_t n_left, const int splits[2],
              Marked *marked_left) {
    if (!splits[0] && !splits[1]) return;
    int32_t *ids = bag->ids[~node->depth & 1] + node->start, *marks = bag->marks[~node->depth & 1];
    memcpy(marked_left, here->marked, sizeof(Marked) * (size_t)bag->d);
    for (int32_t i = node->n_constant; i < bag->d; i++) {
        size_t f = (size_t)bag->features[i];
        const int32_t *from = here->order + f * (size_t)bag->n;
        int32_t *to = ids + f * (size_t)bag->n;
        if (!splits[1])
            deal_left(from, here->n, bag->goes_left, to);
        else if (!splits[0])
            deal_right(from, here->n, bag->goes_left, to);
        else
            deal(from, here->n, n_left, bag->goes_left, to);
        Marked *right = here->marked + f;
        size_t room = f * bag->marks_room + (size_t)right->at;
        if (right->count > 0) deal_marks(bag, here->marks + room, marks + room, marked_left + f, right);
    }
}
