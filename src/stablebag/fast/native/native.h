/* What all C files share: how a function is made visible to Python, and the number of the interface. */
#ifndef STABLEBAG_NATIVE_H
#define STABLEBAG_NATIVE_H

#include <stdint.h>

/* One more whenever a function that Python calls is added or called differently; loading.py has the same number. */
#define STABLEBAG_ABI 1

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* One node of a tree; the nodes lie depth first, so that the left child of a node is the one after it.
 * A leaf has threshold -inf, feature 0 and leads to itself. */
typedef struct {
    double threshold;
    int32_t feature, right;
} Node;

#endif
