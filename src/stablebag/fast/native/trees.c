/* scikit-learn's decision trees, byte for byte, one bag per call.
 *
 * Every feature of the table is sorted once. A bag filters that order, and each node splits its parent's order into
 * those of the two children. Features are drawn, targets are added and ties are broken exactly as in scikit-learn. If
 * the order of samples affects the rounding of sums, scikit-learn's order is followed too.
 */
#include <string.h>

#include "trees.h"

EXPORTED int64_t stablebag_tree_bytes(int32_t n_table_rows, int32_t n_rows, int32_t n_features, int32_t n_classes);
EXPORTED int32_t stablebag_fit_tree(const Table *table, Fit *fit, uint32_t seed);

/* The bytes of memory for a bag of up to n_rows rows. */
EXPORTED int64_t stablebag_tree_bytes(int32_t n_table_rows, int32_t n_rows, int32_t n_features, int32_t n_classes) {
    Bag bag;
    return (int64_t)lay_out(&bag, NULL, n_table_rows, n_rows, n_features, n_classes);
}

/* The first number below 2^31 - 1 from numpy's RandomState(seed).randint, with which scikit-learn seeds a tree: the
 * Mersenne twister's first outputs, without the highest bit. */
static uint32_t first_random(uint32_t seed) {
    uint32_t state[624];
    state[0] = seed;
    for (uint32_t i = 1; i < 624; i++) state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
    for (int i = 0; i < 227; i++) {
        uint32_t y = (state[i] & 0x80000000u) | (state[i + 1] & 0x7fffffffu);
        y = state[i + 397] ^ (y >> 1) ^ ((y & 1) ? 0x9908b0dfu : 0);
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        y ^= y >> 18;
        y &= 0x7fffffffu;
        if (y < 0x7fffffffu) return y;
    }
    return 0;
}

static int is_leaf(const Bag *bag, const Waiting *node) {
    const Fit *fit = bag->fit;
    int32_t n = node->end - node->start;
    return node->depth >= bag->table->max_depth || n < fit->min_samples_split || n / 2 < fit->min_samples_leaf ||
           n < 2 * fit->min_weight_leaf || node->impurity <= EPSILON;
}

static Here look_around(const Bag *bag, const Waiting *node, int32_t top) {
    const int32_t n = node->end - node->start, parity = node->depth & 1;
    Here here = {
        .order = bag->ids[parity] + node->start,
        .n = n,
        .low = bag->low_leaf,
        .high = n - bag->low_leaf,
        .copies = node->n_distinct < n,
        .total = node->sum,
        .counts = bag->counts + (size_t)top * (size_t)bag->k,
        .marks = bag->marks[parity],
        .marked = bag->marked + (size_t)top * (size_t)bag->d,
    };
    if (bag->k == 2) here.total = here.counts[1];
    if (bag->table->criterion == SQUARED_ERROR)
        here.share = 16 * EPSILON;
    else if (bag->table->criterion == GINI)
        here.slack = 64 * EPSILON * n;
    else
        here.slack = (1e-3 + 1e-5 * bag->k) * n + 4 * bag->k + 8; /* of the scaled k log k */
    return here;
}

/* Split the node at place `top` of the stack. The right child takes its place, the left child the next one. Return the
 * feature, or -1 if the node is a leaf after all. */
static int32_t split(Bag *bag, int32_t top, double *threshold) {
    Waiting node = bag->stack[top], children[2];
    Here here = look_around(bag, &node, top);
    const int32_t *samples = bag->samples + node.start;
    Best best = best_split(bag, &here, &samples, &node.n_constant);
    if (best.feature < 0) return -1;

    const int32_t *between = order_of(bag, &here, best.feature) + best.n_left - 1;
    const float *column = bag->table->columns + (size_t)best.feature * (size_t)bag->table->n_rows;
    *threshold = column[bag->row[between[0]]] / 2.0 + column[bag->row[between[1]]] / 2.0;
    double *counts = bag->counts + (size_t)top * (size_t)bag->k, *both[2] = {counts + bag->k, counts};
    make_children(bag, &node, &here, &best, samples, children, both);
    double n = here.n, n_left = best.n_left, n_right = n - n_left;
    double improvement = n / bag->n * (node.impurity - n_right / n * children[1].impurity -
                                       n_left / n * children[0].impurity);
    if (improvement + EPSILON < bag->table->min_impurity_decrease) return -1;
    int splits[2] = {!is_leaf(bag, children), !is_leaf(bag, children + 1)};
    deal_out(bag, &node, &here, best.n_left, splits, here.marked + bag->d);
    bag->stack[top] = children[1];
    bag->stack[top + 1] = children[0];
    return best.feature;
}

static void start(Bag *bag) {
    Waiting *root = bag->stack;
    *root = (Waiting){0, bag->n, 0, -1, 0, bag->n_distinct, 0, 0, 0};
    memset(bag->counts, 0, sizeof(double) * (size_t)bag->k);
    for (int32_t i = 0; i < bag->n; i++) {
        double y = bag->y[bag->samples[i]];
        root->sum += y;
        root->squares += y * y;
        if (bag->k) bag->counts[bag->code[bag->samples[i]]] += 1.0;
    }
    double mean = root->sum / bag->n;
    root->impurity = bag->k ? impurity_of(bag, bag->counts, bag->n) : root->squares / bag->n - mean * mean;
}

/* Write the node at place `top` of the stack as a leaf; a split may change it later. */
static void write_down(Bag *bag, int32_t top) {
    Fit *fit = bag->fit;
    const Waiting *node = bag->stack + top;
    const double *counts = bag->counts + (size_t)top * (size_t)bag->k;
    int32_t id = fit->n_nodes++, n = node->end - node->start;
    fit->nodes[id] = (Node){-INFINITY, 0, id};
    fit->impurity[id] = node->impurity;
    fit->n_samples[id] = n;
    if (!bag->k) fit->value[id] = node->sum / n;
    for (int32_t c = 0; c < bag->k; c++) fit->value[(size_t)id * (size_t)bag->k + (size_t)c] = counts[c] / n;
    if (node->parent >= 0) fit->nodes[node->parent].right = id;
    if (node->depth > fit->depth) fit->depth = node->depth;
}

static void grow(Bag *bag) {
    Fit *fit = bag->fit;
    for (int32_t top = 0; top >= 0; top--) {
        int32_t id = fit->n_nodes;
        write_down(bag, top);
        if (is_leaf(bag, bag->stack + top)) continue;
        double threshold;
        int32_t feature = split(bag, top, &threshold);
        if (feature < 0) continue;
        fit->nodes[id].feature = feature;
        fit->nodes[id].threshold = threshold;
        bag->stack[top].parent = id; /* of the right child */
        top += 2;
    }
}

/* Build the tree of one bag; return 0, or 1 if a row is not in the table. */
EXPORTED int32_t stablebag_fit_tree(const Table *table, Fit *fit, uint32_t seed) {
    Bag bag = {.table = table, .fit = fit, .n = fit->n_rows, .d = table->n_features};
    lay_out(&bag, fit->memory, table->n_rows, fit->n_rows, table->n_features, table->n_classes);
    bag.same_value = fit->release < 8 ? 0.0f : 1e-7f; /* before 1.8, scikit-learn intended 1e-7 but used 0 */
    bag.few = fit->release < 9 ? 1 : 15;
    bag.low_leaf = fit->min_samples_leaf;
    while (bag.low_leaf < fit->min_weight_leaf) bag.low_leaf++;
    bag.random = first_random(seed);
    fit->n_nodes = fit->depth = fit->n_seen = 0;
    if (!take_rows(&bag)) return 1;
    bag.kept = !bag.k && fit->order_matters;
    bag.by_sums = !bag.k || (bag.k == 2 && table->criterion == GINI);
    start(&bag);
    grow(&bag);
    return 0;
}
