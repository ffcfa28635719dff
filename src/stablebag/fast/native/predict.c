/* Predictions of many trees at many points, like those of scikit-learn's trees: x <= threshold goes left.
 *
 * Several points walk down a tree at the same time and without branches, so that one waits for memory while the others
 * move; a point at a leaf stays there. For many points, a tree is first rewritten into half the space, with numbers as
 * integers in the same order: it then fits into the fastest cache, and each step is faster. Points are processed in
 * blocks that stay in the cache for all trees.
 */
#include <stdlib.h>
#include <string.h>

#include "native.h"

enum {
    AT_ONCE = 8,           /* points that move together */
    LEVELS = 4,            /* steps between two checks which points have arrived at a leaf */
    GROUP = 128,           /* points that are compacted when some of them have arrived */
    BLOCK_BYTES = 1 << 19, /* of points */
    MOST_NODES = 1 << 16,  /* of a tree that is rewritten */
    MOST_FEATURES = 1 << 16,
    WORTH_IT = 32          /* nodes to rewrite for each point */
};

/* A node in half the space. */
typedef struct {
    int32_t key;
    uint16_t feature, right;
} Short;

/* One step down, without a branch, because the direction is unpredictable. Clang must be told so, or it compiles even
 * branchless code to a branch. */
static inline int32_t next(int32_t at, int32_t right, int goes_left) {
#if defined(__clang__)
    return __builtin_unpredictable(goes_left) ? at + 1 : right;
#else
    return right ^ ((right ^ (at + 1)) & -(int32_t)goes_left);
#endif
}

/* ---------------------------------------------------------------------------------------------------- few points */

/* The leaves of a few points. */
static void walk(const Node *nodes, const float *points, int count, int64_t n_features, int32_t *leaves) {
    int32_t moved = 1;
    for (int i = 0; i < count; i++) leaves[i] = 0;
    while (moved) {
        moved = 0;
        for (int i = 0; i < count; i++) {
            int32_t at = leaves[i];
            const Node *node = nodes + at;
            leaves[i] = next(at, node->right, (double)points[i * n_features + node->feature] <= node->threshold);
            moved |= leaves[i] ^ at;
        }
    }
}

/* --------------------------------------------------------------------------------------------------- many points */

/* An integer with the same order as the number, which is not NaN; both zeros have the same integer. */
static inline int32_t key_of(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= -(int32_t)(bits != INT32_MIN);
    return bits ^ ((bits >> 31) & INT32_MAX);
}

/* The tree with keys: x <= threshold if the key of x is at most the key of the largest float up to the threshold. */
static void shorten(const Node *nodes, int64_t n_nodes, Short *to) {
    for (int64_t i = 0; i < n_nodes; i++) {
        float above = (float)nodes[i].threshold;
        to[i].key = key_of(above) - ((double)above > nodes[i].threshold);
        to[i].feature = (uint16_t)nodes[i].feature;
        to[i].right = (uint16_t)nodes[i].right;
    }
}

/* Move the first `active` points of a group down some levels, and those that are not at a leaf yet to the front. */
static int advance(const Short *nodes, const int32_t *keys, int64_t n_features, int active, int32_t *who,
                   int32_t *where, int32_t *leaves) {
    int remaining = 0;
    for (int j = 0; j < active; j += AT_ONCE) {
        int32_t at[AT_ONCE];
        const int32_t *point[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            at[i] = where[j + i];
            point[i] = keys + who[j + i] * n_features;
        }
        for (int level = 0; level < LEVELS; level++)
            for (int i = 0; i < AT_ONCE; i++) {
                const Short *node = nodes + at[i];
                at[i] = next(at[i], node->right, point[i][node->feature] <= node->key);
            }
        for (int i = 0; i < AT_ONCE; i++) {
            int32_t own = who[j + i];
            leaves[own] = at[i];
            who[remaining] = own;
            where[remaining] = at[i];
            remaining += (nodes[at[i]].right != at[i]) & (j + i < active);
        }
    }
    return remaining;
}

/* The leaves of a group of points. */
static void walk_group(const Short *nodes, const int32_t *keys, int count, int64_t n_features, int32_t *leaves) {
    int32_t who[GROUP + AT_ONCE], where[GROUP + AT_ONCE] = {0};
    for (int i = 0; i < GROUP + AT_ONCE; i++) who[i] = i < count ? i : 0;
    for (int active = count; active;) {
        active = advance(nodes, keys, n_features, active, who, where, leaves);
        for (int i = active; i < active + AT_ONCE; i++) { /* fill the last batch with copies of the first point */
            who[i] = who[0];
            where[i] = where[0];
        }
    }
}

/* --------------------------------------------------------------------------------------------------------- both */

static inline void copy_values(const double *values, int64_t n_outputs, const int32_t *leaves, int count, double *out) {
    if (n_outputs == 1)
        for (int i = 0; i < count; i++) out[i] = values[leaves[i]];
    else
        for (int i = 0; i < count; i++)
            memcpy(out + i * n_outputs, values + leaves[i] * n_outputs, sizeof(double) * (size_t)n_outputs);
}

EXPORTED void stablebag_predict(int64_t n_trees, const Node *const *nodes, const int64_t *n_nodes,
                                const double *const *values, int64_t n_outputs, const float *points, int64_t n_points,
                                int64_t n_features, double *out, int64_t stride);

/* Fill out[t * stride + p * n_outputs + k] with output k of tree t at point p, which must be finite. */
EXPORTED void stablebag_predict(int64_t n_trees, const Node *const *nodes, const int64_t *n_nodes,
                                const double *const *values, int64_t n_outputs, const float *points, int64_t n_points,
                                int64_t n_features, double *out, int64_t stride) {
    int64_t block = BLOCK_BYTES / (int64_t)sizeof(float) / n_features / GROUP * GROUP;
    if (block < GROUP) block = GROUP;
    int32_t leaves[GROUP];
    int rewrite = n_points >= AT_ONCE && n_features <= MOST_FEATURES;
    int32_t *keys = rewrite ? malloc(sizeof *keys * (size_t)(block * n_features)) : NULL;
    Short *shorts = keys ? malloc(sizeof *shorts * MOST_NODES) : NULL; /* without memory, walk like for few points */
    for (int64_t begin = 0; begin < n_points; begin += block) {
        int64_t end = n_points - begin < block ? n_points : begin + block;
        const float *here = points + begin * n_features;
        if (shorts)
            for (int64_t i = 0; i < (end - begin) * n_features; i++) keys[i] = key_of(here[i]);
        for (int64_t t = 0; t < n_trees; t++) {
            int shorter = shorts && n_nodes[t] <= MOST_NODES && n_nodes[t] <= WORTH_IT * (end - begin);
            if (shorter) shorten(nodes[t], n_nodes[t], shorts);
            for (int64_t p = begin; p < end; p += GROUP) {
                int count = end - p < GROUP ? (int)(end - p) : GROUP;
                if (shorter)
                    walk_group(shorts, keys + (p - begin) * n_features, count, n_features, leaves);
                else
                    walk(nodes[t], points + p * n_features, count, n_features, leaves);
                copy_values(values[t], n_outputs, leaves, count, out + t * stride + p * n_outputs);
            }
        }
    }
    free(shorts);
    free(keys);
}
