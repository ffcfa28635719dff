/* The best split of a node by one feature, from the counts of classes: for Gini and entropy.
 *
 * Moving one row to the left changes the sum of squared counts, or of k log k, by an amount that depends on two counts
 * only. Splits that come within rounding errors of the best are then computed exactly like in scikit-learn.
 */
#include <string.h>

#include "trees.h"

enum { SMALL = 64 }; /* for nodes with fewer rows, a table has the terms of entropies */

static double term(double count, double n) {
    double share = count / n;
    return share * (log(share) / log(2.0));
}

EXPORTED void stablebag_tree_terms(double *terms);

/* Fill in the terms of entropies for all counts in small nodes. */
EXPORTED void stablebag_tree_terms(double *terms) {
    for (int n = 0; n < SMALL; n++)
        for (int count = 0; count < SMALL; count++)
            terms[n * SMALL + count] = count && count <= n ? term(count, n) : 0.0;
}

static double entropy_of(const Bag *bag, const double *counts, double n) {
    double entropy = 0.0;
    const double *known = n < SMALL ? bag->table->terms + (int)n * SMALL : NULL;
    for (int32_t c = 0; c < bag->k; c++)
        if (counts[c] > 0.0) entropy -= known ? known[(int)counts[c]] : term(counts[c], n);
    return entropy;
}

static double gini_of(double squares, double n) { return 1.0 - squares / (n * n); }

/* The impurity of a node with these counts of classes. */
double impurity_of(const Bag *bag, const double *counts, double n) {
    if (bag->table->criterion == ENTROPY) return entropy_of(bag, counts, n);
    double squares = 0.0;
    for (int32_t c = 0; c < bag->k; c++) squares += counts[c] * counts[c];
    return gini_of(squares, n);
}

static inline int is_open(const Bag *bag, int gaps, const int32_t *order, int32_t p, const float *values,
                          int32_t *n_closed) {
    if (gaps == ANYWHERE) return 1;
    if (gaps == BETWEEN_ROWS) return order[p] != order[p - 1];
    int open = values[order[p]] > values[order[p - 1]] + bag->same_value;
    *n_closed += !open & (order[p] != order[p - 1]);
    return open;
}

static inline void look(const Bag *bag, const Here *here, int gaps, const int32_t *order, const float *values,
                        int entropy, int exactly, double above, int32_t feature, Best *best, int32_t *n_closed) {
    const int32_t *code = bag->code;
    const double *inverse = bag->fit->inverse;
    const int64_t *logs = bag->fit->logs;
    double *left = bag->left, *right = bag->right, square_left = 0.0, square_right = 0.0;
    int64_t scaled = 0;
    memset(left, 0, sizeof(double) * (size_t)bag->k);
    memcpy(right, here->counts, sizeof(double) * (size_t)bag->k);
    for (int32_t c = 0; c < bag->k; c++) {
        square_right += right[c] * right[c];
        if (entropy) scaled += logs[(int32_t)right[c]];
    }
    for (int32_t p = 1; p < here->n; p++) {
        int32_t c = code[order[p - 1]];
        double l = left[c], r = right[c];
        if (entropy) {
            int32_t a = (int32_t)l, b = (int32_t)r;
            scaled += (logs[a + 1] - logs[a]) - (logs[b] - logs[b - 1]);
        } else {
            square_left += 2.0 * l + 1.0;
            square_right -= 2.0 * r - 1.0;
        }
        left[c] = l + 1.0;
        right[c] = r - 1.0;
        int open = is_open(bag, gaps, order, p, values, n_closed);
        if (p < here->low || p > here->high) continue;
        double n_left = p, n_right = here->n - p;
        double rough = entropy ? (double)(scaled - logs[p] - logs[here->n - p])
                               : square_left * inverse[p] + square_right * inverse[here->n - p];
        if (!exactly) {
            rough = open ? rough : -INFINITY;
            best->merit = rough > best->merit ? rough : best->merit;
            continue;
        }
        if (rough < above || !open) continue;
        double merit = entropy ? -n_right * entropy_of(bag, right, n_right) - n_left * entropy_of(bag, left, n_left)
                               : -n_right * gini_of(square_right, n_right) - n_left * gini_of(square_left, n_left);
        if (merit > best->merit) *best = (Best){merit, feature, p};
    }
}

/* The best approximate merit of a feature, and how often two rows have the same value. */
double sweep_classes(const Bag *bag, const Here *here, int gaps, const int32_t *order, const float *values,
                     int32_t *n_closed) {
    Best best = {-INFINITY, -1, 0};
    *n_closed = 0;
    if (bag->table->criterion == ENTROPY)
        look(bag, here, gaps, order, values, 1, 0, 0.0, -1, &best, n_closed);
    else if (gaps == ANYWHERE)
        look(bag, here, ANYWHERE, order, values, 0, 0, 0.0, -1, &best, n_closed);
    else
        look(bag, here, gaps, order, values, 0, 0, 0.0, -1, &best, n_closed);
    return best.merit;
}

/* Look for a better split among those with an approximate merit of at least `above`. */
void sweep_classes_exactly(const Bag *bag, const Here *here, int gaps, int32_t feature, const int32_t *order,
                           const float *values, double above, Best *best) {
    int32_t n_closed = 0;
    look(bag, here, gaps, order, values, bag->table->criterion == ENTROPY, 1, above, feature, best, &n_closed);
}
