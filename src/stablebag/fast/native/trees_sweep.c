/* The best split of a node by one feature, from the sums of targets on both sides: for regression, and for Gini with
 * two classes.
 *
 * scikit-learn's merit needs two divisions per split. An approximate merit uses a table of inverses, for two features
 * at a time. The exact merit is computed for splits that come within rounding errors of the best.
 */
#include "trees.h"

#if defined(__SSE2__)
#include <emmintrin.h>
typedef __m128d Two;
static inline Two two(double a, double b) { return _mm_set_pd(b, a); }
static inline Two add(Two a, Two b) { return _mm_add_pd(a, b); }
static inline Two subtract(Two a, Two b) { return _mm_sub_pd(a, b); }
static inline Two times(Two a, Two b) { return _mm_mul_pd(a, b); }
static inline Two larger(Two a, Two b) { return _mm_max_pd(a, b); }
static inline Two zero_unless(Two x, int a, int b) {
    return _mm_and_pd(x, _mm_castsi128_pd(_mm_set_epi64x(-(int64_t)b, -(int64_t)a)));
}
static inline void put(double *to, Two a) { _mm_storeu_pd(to, a); }
#else
typedef struct {
    double a, b;
} Two;
static inline Two two(double a, double b) { return (Two){a, b}; }
static inline Two add(Two x, Two y) { return (Two){x.a + y.a, x.b + y.b}; }
static inline Two subtract(Two x, Two y) { return (Two){x.a - y.a, x.b - y.b}; }
static inline Two times(Two x, Two y) { return (Two){x.a * y.a, x.b * y.b}; }
static inline Two larger(Two x, Two y) { return (Two){x.a > y.a ? x.a : y.a, x.b > y.b ? x.b : y.b}; }
static inline Two zero_unless(Two x, int a, int b) { return (Two){a ? x.a : 0.0, b ? x.b : 0.0}; }
static inline void put(double *to, Two x) { to[0] = x.a, to[1] = x.b; }
#endif

/* Whether the node can be split between these neighbours; count where it cannot although the rows differ. */
static inline int is_open(int gaps, int32_t id, int32_t last, float *value, const float *values, float same_value,
                          int32_t *n_closed) {
    if (gaps == BETWEEN_ROWS) return id != last;
    float before = *value;
    *value = values[id];
    int open = *value > before + same_value;
    *n_closed += !open & (id != last);
    return open;
}

static inline void sweep(const Bag *bag, const Here *here, int gaps, const int32_t *order[2], const float *values[2],
                         double most[2], int32_t n_closed[2]) {
    const double *y = bag->y, *inverse = bag->fit->inverse;
    const int32_t *one = order[0], *other = order[1], n = here->n, low = here->low, high = here->high;
    const Two total = two(here->total, here->total);
    const float same = bag->same_value;
    Two sum = two(0.0, 0.0), best = two(-INFINITY, -INFINITY);
    int32_t p = 1, id[2] = {one[0], other[0]}, closed[2] = {0, 0};
    float value[2] = {0.0f, 0.0f};
    if (gaps == BETWEEN_VALUES) value[0] = values[0][id[0]], value[1] = values[1][id[1]];
    for (; p <= high; p++) {
        int32_t last[2] = {id[0], id[1]};
        int open[2] = {1, 1};
        id[0] = one[p], id[1] = other[p];
        sum = add(sum, two(y[last[0]], y[last[1]]));
        if (gaps != ANYWHERE) {
            open[0] = is_open(gaps, id[0], last[0], value, values[0], same, closed);
            open[1] = is_open(gaps, id[1], last[1], value + 1, values[1], same, closed + 1);
        }
        if (p < low) continue;
        Two rest = subtract(total, sum);
        Two left = two(inverse[p], inverse[p]), right = two(inverse[n - p], inverse[n - p]);
        Two merit = add(times(times(sum, sum), left), times(times(rest, rest), right));
        if (gaps != ANYWHERE) merit = zero_unless(merit, open[0], open[1]);
        best = larger(merit, best);
    }
    if (gaps == BETWEEN_VALUES) /* the rest is for the children */
        for (; p < n; p++)
            for (int i = 0; i < 2; i++) {
                int32_t last = id[i];
                id[i] = order[i][p];
                is_open(gaps, id[i], last, value + i, values[i], same, closed + i);
            }
    n_closed[0] = closed[0];
    n_closed[1] = closed[1];
    put(most, best);
}

/* Fill in the best approximate merits of two features, and how often two rows have the same value. */
void sweep_pair(const Bag *bag, const Here *here, int gaps, const int32_t *order[2], const float *values[2],
                double most[2], int32_t n_closed[2]) {
    if (gaps == ANYWHERE)
        sweep(bag, here, ANYWHERE, order, values, most, n_closed);
    else if (gaps == BETWEEN_ROWS)
        sweep(bag, here, BETWEEN_ROWS, order, values, most, n_closed);
    else
        sweep(bag, here, BETWEEN_VALUES, order, values, most, n_closed);
}

/* scikit-learn's merit of a split after p rows with this sum of targets. */
static inline double merit_of(int gini, double n, double total, double p, double sum) {
    double rest = total - sum, others = n - p;
    if (!gini) return sum * sum / p + rest * rest / others;
    double left = 1.0 - ((p - sum) * (p - sum) + sum * sum) / (p * p);
    double right = 1.0 - ((others - rest) * (others - rest) + rest * rest) / (others * others);
    return -others * right - p * left;
}

static inline double rough_merit(const double *inverse, int32_t n, double total, int32_t p, double sum) {
    double rest = total - sum;
    return sum * sum * inverse[p] + rest * rest * inverse[n - p];
}

static inline void look(const Bag *bag, const Here *here, int32_t feature, const int32_t *order, int gini, int all,
                        double above, Best *best) {
    const double *y = bag->y, *inverse = bag->fit->inverse;
    double sum = 0.0;
    for (int32_t p = 1; p <= here->high; p++) {
        sum += y[order[p - 1]];
        if (p < here->low || (!all && rough_merit(inverse, here->n, here->total, p, sum) < above)) continue;
        double merit = merit_of(gini, here->n, here->total, p, sum);
        if (merit > best->merit) *best = (Best){merit, feature, p};
    }
}

/* Look for a better split by a feature without equal values, if its approximate merit is at least `above`. */
void sweep_exactly(const Bag *bag, const Here *here, int32_t feature, const int32_t *order, double above, Best *best) {
    int gini = bag->table->criterion == GINI, all = above == -INFINITY;
    if (gini)
        look(bag, here, feature, order, 1, all, above, best);
    else if (all)
        look(bag, here, feature, order, 0, 1, above, best);
    else
        look(bag, here, feature, order, 0, 0, above, best);
}

/* Sum the targets to the left of each split between groups of equal values, from the shorter side like scikit-learn.
 * Return the number of splits that leave enough rows on both sides. */
static int32_t sum_groups(const Bag *bag, const Here *here, const int32_t *order, int32_t n_bounds) {
    const double *y = bag->y;
    const int32_t n = here->n, least = bag->fit->min_samples_leaf;
    double sum = 0.0;
    int32_t at = 0, used = 0;
    for (int32_t j = 0; j < n_bounds; j++) {
        int32_t p = bag->bounds[j];
        if (p < least || n - p < least) continue;
        if (p - at <= n - p) {
            for (int32_t i = at; i < p; i++) sum += y[order[i]];
        } else {
            sum = here->total;
            for (int32_t i = n - 1; i >= p; i--) sum -= y[order[i]];
        }
        at = p;
        bag->used[used] = p;
        bag->sums[used] = sum;
        used += p >= here->low && p <= here->high;
    }
    return used;
}

/* The same for a feature with equal values, after `find_bounds` has found their groups. */
void sweep_groups_exactly(const Bag *bag, const Here *here, int32_t feature, const int32_t *order, int32_t n_bounds,
                          double above, Best *best) {
    int32_t n_used = sum_groups(bag, here, order, n_bounds);
    for (int32_t j = 0; j < n_used; j++) {
        int32_t p = bag->used[j];
        if (rough_merit(bag->fit->inverse, here->n, here->total, p, bag->sums[j]) < above) continue;
        double merit = merit_of(bag->table->criterion == GINI, here->n, here->total, p, bag->sums[j]);
        if (merit > best->merit) *best = (Best){merit, feature, p};
    }
}
