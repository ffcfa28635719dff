/* Shared by all C files: how to export a function to Python, and the version of the interface. */
#ifndef STABLEBAG_NATIVE_H
#define STABLEBAG_NATIVE_H

#include <stdint.h>

/* Increase it when a function that Python calls is added or changes its arguments; library.py has the same number. */
#define STABLEBAG_ABI 1

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* One node of a tree. Nodes are in depth-first order: the left child of a node is the next node.
 * A leaf has threshold -inf, feature 0, and itself as its right child. */
typedef struct {
    double threshold;
    int32_t feature, right;
} Node;

#endif
