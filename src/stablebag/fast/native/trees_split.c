/* The best split of a node, among the features that scikit-learn would draw.
 *
 * An approximate merit is computed for all features first. Only those that come within rounding errors of the best are
 * then computed exactly, in the order in which they were drawn; the first of equally good splits wins.
 */
#include <string.h>

#include "trees.h"

enum { FEW = 8 }; /* in nodes with up to this many rows, all splits are computed exactly */

static inline uint32_t next_random(uint32_t *state) {
    if (*state == 0) *state = 1;
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state & 0x7fffffffu;
}

static inline void swap(int32_t *a, int32_t *b) {
    int32_t c = *a;
    *a = *b;
    *b = c;
}

/* Whether all values of the feature are equal, so that no split is possible. */
static inline int is_constant(const Bag *bag, const Here *here, int32_t f) {
    const int32_t *order = order_of(bag, here, f);
    if (!here->marked[f].count) return order[0] == order[here->n - 1];
    const float *values = values_of(bag, f);
    return values[order[here->n - 1]] <= values[order[0]] + bag->same_value;
}

/* Draw features like scikit-learn, until enough of them are not constant. Fill in those that it sorts, with constant
 * ones as -1 - feature, and return their number. */
static int32_t draw_features(Bag *bag, const Here *here, int32_t *n_constant) {
    int32_t *features = bag->features, end = bag->d, known = *n_constant, total = known;
    int32_t visited = 0, found = 0, passed = 0, n_drawn = 0;
    while (end > total && (visited < bag->table->max_features || visited <= found + passed)) {
        visited++;
        int32_t j = passed + (int32_t)(next_random(&bag->random) % (uint32_t)(end - found - passed));
        if (j < known) {
            swap(features + passed++, features + j);
            continue;
        }
        j += found;
        int32_t f = features[j];
        if (is_constant(bag, here, f)) {
            swap(features + j, features + total);
            found++;
            total++;
            bag->drawn[n_drawn++] = -1 - f;
            continue;
        }
        end--;
        swap(features + end, features + j);
        bag->drawn[n_drawn++] = f;
    }
    /* The order of the constant features is kept for siblings and children. */
    memcpy(features, bag->constants, sizeof(int32_t) * (size_t)known);
    memcpy(bag->constants + known, features + known, sizeof(int32_t) * (size_t)found);
    *n_constant = total;
    return n_drawn;
}

/* Whether rows of the node have equal values of the feature, from its marked rows. */
static uint8_t kind_of(const Bag *bag, const Here *here, int32_t f) {
    Marked *marked = here->marked + f;
    if (marked->count <= 0) return marked->count == MANY ? TIED : CLEAR;
    const float *values = values_of(bag, f);
    const int32_t *marks = here->marks + (size_t)f * bag->marks_room + marked->at;
    uint8_t kind = CLEAR;
    for (int32_t i = 1; i < marked->count; i++) {
        float value = values[marks[i]], last = values[marks[i - 1]];
        if (value == last) return TIED;
        if (value <= last + bag->same_value) kind = NEAR;
    }
    if (kind == CLEAR) marked->count = 0;
    return kind;
}

static inline int32_t feature_at(const Bag *bag, int32_t i) {
    return bag->drawn[i] < 0 ? -1 - bag->drawn[i] : bag->drawn[i];
}

static inline int gaps_of(const Here *here, int kind) {
    return kind != CLEAR ? BETWEEN_VALUES : here->copies ? BETWEEN_ROWS : ANYWHERE;
}

/* If a feature with many marks turns out to have no value twice, record this for the children. */
static inline void note_clear(const Here *here, int32_t feature, int gaps, int32_t n_closed) {
    if (gaps == BETWEEN_VALUES && n_closed == 0) here->marked[feature].count = 0;
}

/* Find the approximate merits of two drawn features. */
static void look_at_pair(Bag *bag, const Here *here, int gaps, int32_t i, int32_t j) {
    int32_t features[2] = {bag->drawn[i], bag->drawn[j]}, n_closed[2];
    const int32_t *order[2] = {order_of(bag, here, features[0]), order_of(bag, here, features[1])};
    const float *values[2] = {values_of(bag, features[0]), values_of(bag, features[1])};
    double most[2];
    sweep_pair(bag, here, gaps, order, values, most, n_closed);
    bag->most[i] = most[0];
    bag->most[j] = most[1];
    note_clear(here, features[0], gaps, n_closed[0]);
    note_clear(here, features[1], gaps, n_closed[1]);
}

/* Find the approximate merits of all drawn features; return the best. */
static double look_at_features(Bag *bag, const Here *here, int32_t n_drawn) {
    int32_t waiting[3] = {-1, -1, -1}; /* for a second feature with the same kind of gaps */
    double most = -INFINITY;
    for (int32_t i = 0; i < n_drawn; i++) {
        int32_t f = bag->drawn[i];
        if (f < 0) continue;
        int gaps = gaps_of(here, bag->kinds[i]);
        if (!bag->by_sums) {
            int32_t n_closed;
            bag->most[i] = sweep_classes(bag, here, gaps, order_of(bag, here, f), values_of(bag, f), &n_closed);
            note_clear(here, f, gaps, n_closed);
        } else if (waiting[gaps] < 0) {
            waiting[gaps] = i;
        } else {
            look_at_pair(bag, here, gaps, waiting[gaps], i);
            waiting[gaps] = -1;
        }
    }
    for (int gaps = 0; gaps < 3; gaps++)
        if (waiting[gaps] >= 0) look_at_pair(bag, here, gaps, waiting[gaps], waiting[gaps]);
    for (int32_t i = 0; i < n_drawn; i++)
        if (bag->drawn[i] >= 0 && bag->most[i] > most) most = bag->most[i];
    return most;
}

/* Find which drawn features must be sorted like in scikit-learn: those with ties that are computed exactly, and those
 * whose order affects the order of a later feature or the final order of the samples. */
static void plan_sorts(Bag *bag, const Here *here, int32_t n_drawn, double reach) {
    int wanted = 1; /* whether the order after this feature is */
    for (int32_t i = n_drawn - 1; i >= 0; i--) {
        int tied = bag->kinds[i] == TIED, contends = bag->drawn[i] >= 0 && bag->most[i] >= reach;
        const int32_t *order = order_of(bag, here, feature_at(bag, i));
        const float *values = values_of(bag, feature_at(bag, i));
        bag->sorts[i] = 0;
        if (tied && values[order[0]] == values[order[here->n - 1]]) continue; /* sorting changes nothing */
        bag->sorts[i] = (uint8_t)(tied && (wanted || contends));
        wanted = bag->sorts[i];
    }
}

/* Compute the exact merits of a feature, with the samples in this order. */
static void look_exactly(Bag *bag, const Here *here, int32_t f, int kind, const int32_t *order, int32_t n_bounds,
                         double reach, Best *best) {
    int gaps = gaps_of(here, kind);
    const float *values = gaps == BETWEEN_VALUES ? values_of(bag, f) : NULL;
    int32_t n_ties;
    if (!bag->by_sums) {
        sweep_classes_exactly(bag, here, gaps, f, order, values, reach, best);
    } else if (gaps == ANYWHERE) {
        sweep_exactly(bag, here, f, order, reach, best);
    } else {
        if (n_bounds < 0) n_bounds = find_bounds(bag, values, order, here->n, &n_ties);
        sweep_groups_exactly(bag, here, f, order, n_bounds, reach, best);
    }
}

/* Find the best split; *samples becomes their order after scikit-learn's last sort. */
Best best_split(Bag *bag, Here *here, const int32_t **samples, int32_t *n_constant) {
    int32_t n_drawn = draw_features(bag, here, n_constant), buffer = 0;
    int loose = here->copies, any_ties = 0;
    for (int32_t i = 0; i < n_drawn; i++) {
        bag->kinds[i] = kind_of(bag, here, feature_at(bag, i));
        loose |= bag->kinds[i] != CLEAR;
        any_ties |= bag->kinds[i] == TIED;
    }
    if (bag->kept && loose) /* approximate sums may use another order */
        here->slack += 16 * EPSILON * here->n * here->n * bag->largest * bag->largest;
    double reach = -INFINITY;
    if (here->n > FEW)
        reach = within_reach(here, look_at_features(bag, here, n_drawn));
    else
        for (int32_t i = 0; i < n_drawn; i++) bag->most[i] = INFINITY;
    if (bag->kept && any_ties) plan_sorts(bag, here, n_drawn, reach);

    Best best = {-INFINITY, -1, 0};
    for (int32_t i = 0; i < n_drawn; i++) {
        int32_t f = feature_at(bag, i), n_bounds = -1, n_ties;
        const int32_t *order = order_of(bag, here, f);
        if (bag->kept && any_ties && bag->sorts[i]) {
            n_bounds = find_bounds(bag, values_of(bag, f), order, here->n, &n_ties);
            if (n_ties) {
                sort_ties(bag, *samples, order, here->n, bag->sorted[buffer]);
                order = bag->sorted[buffer];
                buffer ^= 1;
            }
        }
        if (bag->drawn[i] >= 0 && bag->most[i] >= reach)
            look_exactly(bag, here, f, bag->kinds[i], order, n_bounds, reach, &best);
        int unsorted = bag->kinds[i] == TIED && bag->kept && !bag->sorts[i]; /* not needed, or without effect */
        if (!unsorted) *samples = order;
    }
    return best;
}
