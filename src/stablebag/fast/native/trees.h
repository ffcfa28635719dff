/* Shared by the files that grow trees: the rows of all bags, one bag's workspace, and the steps of a split. */
#ifndef STABLEBAG_TREES_H
#define STABLEBAG_TREES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "native.h"

#define EPSILON 2.220446049250313e-16

enum Criterion { SQUARED_ERROR, GINI, ENTROPY };
/* A feature in a node: all values differ, some are so near that they count as equal, or some are exactly equal. */
enum Kind { CLEAR, NEAR, TIED };
/* Where a feature may split a node: anywhere, only between different rows, or only between different values. */
enum Gaps { ANYWHERE, BETWEEN_ROWS, BETWEEN_VALUES };

/* The table that all bags share. */
typedef struct {
    int32_t n_rows, n_features, n_classes, criterion, max_features, max_depth;
    double min_impurity_decrease;
    const float *columns;   /* the features, one after the other */
    const int32_t *order;   /* for each feature, the rows sorted by it */
    const uint8_t *crowded; /* for each feature, whether two rows have the same value */
    const double *targets;  /* of the rows, in regression */
    const int32_t *codes;   /* of the rows' classes, in classification */
    const double *terms;    /* of entropies in small nodes */
} Table;

/* The arguments and results of one call; `release` is 8 for the trees of scikit-learn 1.8. */
typedef struct {
    int32_t n_rows, min_samples_split, min_samples_leaf;
    int32_t order_matters; /* whether the rounding of sums of targets depends on their order */
    double min_weight_leaf;
    const int64_t *rows;   /* of the bag, with repeats */
    void *memory;          /* of stablebag_tree_bytes bytes */
    const double *inverse; /* 1 / k for k up to the number of rows in the bag */
    const int64_t *logs;   /* k log k, scaled; for entropies */
    Node *nodes;
    double *impurity, *value;
    int32_t *n_samples, *seen;
    int32_t n_nodes, depth, n_seen, release;
} Fit;

/* A node on the stack, to be split later. */
typedef struct {
    int32_t start, end, depth, parent, n_constant, n_distinct;
    double impurity, sum, squares;
} Waiting;

/* The rows of a node that may share their value of a feature with another row, sorted: `count` of them from `at` on. */
typedef struct {
    int32_t at, count; /* MANY: too many for a list */
} Marked;
#define MANY (-1)

/* One bag. A row is identified by its place among the bag's distinct rows. */
typedef struct {
    const Table *table;
    Fit *fit;
    int32_t n, n_distinct, d, k;
    int32_t low_leaf;  /* the smallest number of rows in a leaf */
    int by_sums, kept; /* whether sums of targets determine the best split; whether the order of samples matters */
    double largest;    /* of the absolute targets */
    float same_value;  /* values of a feature count as equal if they differ by at most this */
    int32_t few;       /* up to this many rows are sorted by insertion */
    uint32_t random;
    int32_t *ids[2];     /* for even and odd depths: each feature's order, node by node */
    int32_t *marks[2];   /* the same for rows that may share their value with another row */
    size_t marks_room;   /* for each feature */
    double *y;           /* targets; with two classes, 1 for the second class and else 0 */
    int32_t *code, *row; /* class, and row of the table */
    uint8_t *goes_left;
    float *values; /* of crowded features */
    int32_t *features, *constants;
    int32_t *samples; /* in scikit-learn's order */
    int32_t *drawn;
    uint8_t *kinds, *sorts; /* of the drawn features; whether they must be sorted like in scikit-learn */
    double *most;           /* the best approximate merit of each */
    int32_t *bounds, *used, *rank, *starts, *next, *ties_before, *sorted[2], *spare;
    double *sums;
    uint64_t *keys[2], *strays, *back, *ring;
    double *left, *right; /* counts of classes */
    Waiting *stack;
    Marked *marked; /* of the features in the nodes on the stack */
    double *counts; /* of the classes in the nodes on the stack */
} Bag;

/* The current node. */
typedef struct {
    const int32_t *order; /* the first feature's; the others follow at distances of bag->n */
    int32_t n, low, high; /* the smallest and the largest number of rows on the left */
    int copies;           /* whether rows are repeated */
    double total;         /* of the targets */
    const double *counts;
    double share, slack;  /* the error of an approximate merit: a share of it, plus an absolute error */
    const int32_t *marks; /* the first feature's; the others follow at distances of bag->marks_room */
    Marked *marked;
} Here;

/* The best split so far. */
typedef struct {
    double merit;
    int32_t feature, n_left;
} Best;

/* The smallest approximate merit that the best split may have if the largest is `most`. */
static inline double within_reach(const Here *here, double most) {
    return most == -INFINITY ? most : most - here->share * most - here->slack;
}

static inline const int32_t *order_of(const Bag *bag, const Here *here, int32_t feature) {
    return here->order + (size_t)feature * (size_t)bag->n;
}

static inline const float *values_of(const Bag *bag, int32_t feature) {
    return bag->values + (size_t)feature * (size_t)bag->n;
}

/* trees_rows.c */
size_t lay_out(Bag *bag, char *memory, int32_t n_table_rows, int32_t n_rows, int32_t n_features, int32_t k);
int take_rows(Bag *bag);

/* trees_split.c */
Best best_split(Bag *bag, Here *here, const int32_t **samples, int32_t *n_constant);

/* trees_sweep.c */
void sweep_pair(const Bag *bag, const Here *here, int gaps, const int32_t *order[2], const float *values[2],
                       double most[2], int32_t n_closed[2]);
void sweep_exactly(const Bag *bag, const Here *here, int32_t feature, const int32_t *order, double above,
                          Best *best);
void sweep_groups_exactly(const Bag *bag, const Here *here, int32_t feature, const int32_t *order,
                                 int32_t n_bounds, double above, Best *best);

/* trees_classes.c */
double sweep_classes(const Bag *bag, const Here *here, int gaps, const int32_t *order, const float *values,
                            int32_t *n_closed);
void sweep_classes_exactly(const Bag *bag, const Here *here, int gaps, int32_t feature, const int32_t *order,
                                  const float *values, double above, Best *best);
double impurity_of(const Bag *bag, const double *counts, double n);

/* trees_sort.c */
int32_t find_bounds(const Bag *bag, const float *values, const int32_t *order, int32_t n, int32_t *n_ties);
void sort_ties(const Bag *bag, const int32_t *before, const int32_t *order, int32_t n, int32_t *after);

/* trees_children.c */
void make_children(Bag *bag, const Waiting *node, const Here *here, const Best *best, const int32_t *samples,
                          Waiting children[2], double *counts[2]);
void deal_out(Bag *bag, const Waiting *node, const Here *here, int32_t n_left, const int splits[2],
                     Marked *marked_left);

#endif
