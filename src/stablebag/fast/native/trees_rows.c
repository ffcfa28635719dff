/* The rows of a bag: number them, sort them by each feature, and lay out the workspace. */
#include <string.h>

#include "trees.h"

/* With the address sanitizer, arrays have poisoned gaps between them. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define GAP 64
#else
#define GAP 0
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

/* A workspace from which arrays are taken; without memory, it is only measured. */
typedef struct {
    char *memory;
    size_t used;
} Room;

static void *take(Room *room, size_t count, size_t size) {
    size_t bytes = count * size, whole = (bytes + 63) / 64 * 64 + GAP;
    char *taken = room->memory ? room->memory + room->used : NULL;
    if (taken) {
        ASAN_UNPOISON_MEMORY_REGION(taken, bytes);
        ASAN_POISON_MEMORY_REGION(taken + bytes, whole - bytes);
    }
    room->used += whole;
    return taken;
}

/* Lay out the workspace of a bag of up to n_rows rows, or only measure it without memory; return its size. */
size_t lay_out(Bag *bag, char *memory, int32_t n_table_rows, int32_t n_rows, int32_t n_features, int32_t k) {
    size_t n = (size_t)n_rows, d = (size_t)n_features, classes = (size_t)k, table = (size_t)n_table_rows;
    size_t most = n > table ? n : table;
    Room room = {memory, 0}, *at = &room;
    bag->marks_room = n / 4 + 2;
    for (int i = 0; i < 2; i++) {
        bag->ids[i] = take(at, d * n + 8, sizeof(int32_t));
        bag->marks[i] = take(at, d * bag->marks_room, sizeof(int32_t));
        bag->sorted[i] = take(at, n, sizeof(int32_t));
        bag->keys[i] = take(at, n + 1, sizeof(uint64_t));
    }
    bag->y = take(at, n, sizeof(double));
    bag->code = take(at, n, sizeof(int32_t));
    bag->row = take(at, n, sizeof(int32_t));
    bag->goes_left = take(at, n, 1);
    bag->values = take(at, d * n, sizeof(float));
    bag->features = take(at, d, sizeof(int32_t));
    bag->constants = take(at, d, sizeof(int32_t));
    bag->samples = take(at, n, sizeof(int32_t));
    bag->drawn = take(at, d, sizeof(int32_t));
    bag->kinds = take(at, d, 1);
    bag->sorts = take(at, d, 1);
    bag->most = take(at, d, sizeof(double));
    bag->bounds = take(at, n + 1, sizeof(int32_t));
    bag->used = take(at, n + 1, sizeof(int32_t));
    bag->rank = take(at, n, sizeof(int32_t));
    bag->starts = take(at, n + 1, sizeof(int32_t));
    bag->next = take(at, n + 1, sizeof(int32_t));
    bag->ties_before = take(at, n, sizeof(int32_t));
    bag->spare = take(at, 2 * most + 4, sizeof(int32_t));
    bag->sums = take(at, n + 1, sizeof(double));
    bag->strays = take(at, n + 2, sizeof(uint64_t));
    bag->back = take(at, n + 2, sizeof(uint64_t));
    bag->ring = take(at, n + 2, sizeof(uint64_t));
    bag->left = take(at, classes, sizeof(double));
    bag->right = take(at, classes, sizeof(double));
    bag->stack = take(at, n + 2, sizeof(Waiting));
    bag->marked = take(at, (n + 2) * d, sizeof(Marked));
    bag->counts = take(at, (n + 2) * classes, sizeof(double));
    return room.used;
}

/* Number the distinct rows of the bag in the order of the table; return 0 if one is not in the table. */
static int number_rows(Bag *bag, int32_t *count, int32_t *number) {
    const int64_t *rows = bag->fit->rows;
    const int32_t n_rows = bag->table->n_rows;
    int32_t n_distinct = 0;
    memset(count, 0, sizeof(int32_t) * (size_t)n_rows);
    for (int32_t i = 0; i < bag->n; i++) {
        if (rows[i] < 0 || rows[i] >= n_rows) return 0;
        count[rows[i]]++;
    }
    for (int32_t r = 0; r < n_rows; r++) {
        number[r] = count[r] ? n_distinct : -1;
        if (count[r]) bag->row[n_distinct++] = r;
    }
    bag->n_distinct = n_distinct;
    for (int32_t i = 0; i < bag->n; i++) bag->samples[i] = number[rows[i]];
    return 1;
}

static void filter(const int32_t *order, int32_t n_rows, const int32_t *number, int32_t *to) {
    int32_t kept = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        int32_t id = number[order[i]];
        to[kept] = id;
        kept += id >= 0;
    }
}

static void filter_with_repeats(const int32_t *order, int32_t n_rows, const int32_t *number, const int32_t *count,
                                int32_t *to) {
    int32_t kept = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        int32_t id = number[order[i]], copies = count[order[i]];
        for (int c = 0; c < 4; c++) to[kept + c] = id; /* there is room for four */
        for (int32_t c = 4; c < copies; c++) to[kept + c] = id;
        kept += copies;
    }
}

/* Mark the rows that share their value with the next or the previous one in order, unless there are many. */
static Marked mark(const Bag *bag, const float *values, const int32_t *order, int32_t *marks) {
    int32_t count = 0, last = order[0], marked = -1;
    for (int32_t i = 1; i < bag->n; i++) {
        int32_t id = order[i];
        if (id != last && values[id] <= values[last] + bag->same_value) {
            if ((size_t)count + 2 > bag->marks_room) return (Marked){0, MANY};
            if (marked != last) marks[count++] = last;
            marks[count++] = marked = id;
        }
        last = id;
    }
    return (Marked){0, count};
}

static void order_features(Bag *bag, const int32_t *count, const int32_t *number) {
    const Table *table = bag->table;
    for (int32_t f = 0; f < bag->d; f++) {
        const size_t start = (size_t)f * (size_t)table->n_rows;
        int32_t *to = bag->ids[0] + (size_t)f * (size_t)bag->n;
        if (bag->n_distinct < bag->n)
            filter_with_repeats(table->order + start, table->n_rows, number, count, to);
        else
            filter(table->order + start, table->n_rows, number, to);
        bag->features[f] = f;
        bag->marked[f] = (Marked){0, 0};
        if (!table->crowded[f]) continue;
        float *values = bag->values + (size_t)f * (size_t)bag->n;
        for (int32_t i = 0; i < bag->n_distinct; i++) values[i] = table->columns[start + (size_t)bag->row[i]];
        bag->marked[f] = mark(bag, values, to, bag->marks[0] + (size_t)f * bag->marks_room);
    }
}

/* The targets of the bag's rows, and the classes in the bag. */
static void take_targets(Bag *bag) {
    const Table *table = bag->table;
    Fit *fit = bag->fit;
    if (!table->n_classes) {
        for (int32_t i = 0; i < bag->n_distinct; i++) {
            bag->y[i] = table->targets[bag->row[i]];
            if (fabs(bag->y[i]) > bag->largest) bag->largest = fabs(bag->y[i]);
        }
        return;
    }
    int32_t *code_of = bag->spare; /* of a class in the bag */
    memset(code_of, 0, sizeof(int32_t) * (size_t)table->n_classes);
    for (int32_t i = 0; i < bag->n_distinct; i++) code_of[table->codes[bag->row[i]]] = 1;
    for (int32_t c = 0; c < table->n_classes; c++) {
        if (code_of[c]) fit->seen[bag->k++] = c;
        code_of[c] = bag->k - 1;
    }
    for (int32_t i = 0; i < bag->n_distinct; i++) {
        bag->code[i] = code_of[table->codes[bag->row[i]]];
        bag->y[i] = bag->code[i];
    }
    fit->n_seen = bag->k;
}

/* Take the rows of the bag from the table; return 0 if one is not in the table. */
int take_rows(Bag *bag) {
    int32_t *count = bag->spare, *number = bag->spare + bag->table->n_rows;
    if (!number_rows(bag, count, number)) return 0;
    order_features(bag, count, number);
    take_targets(bag);
    return 1;
}
