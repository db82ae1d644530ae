/* The spectral gradient iteration on the dual, from given multipliers to an ending. */
#ifndef ENTROPIC_SPECTRAL_H
#define ENTROPIC_SPECTRAL_H

#include <stddef.h>

#include "dual.h"
#include "level.h"

enum { SPECTRAL_FIGURES = 5 }; /* a step's: iteration, gap, objective, gradient norm, length */

typedef enum {
    SPECTRAL_CONVERGED,
    SPECTRAL_MAX_ITER,
    SPECTRAL_PRECISION,
    SPECTRAL_INTERRUPTED,   /* the callback asked to stop */
    SPECTRAL_ABANDONED,     /* a callback failed, or chunks_stopped */
    SPECTRAL_NO_MEMORY
} spectral_status;

/* How long a step is, and which steps the search accepts (numpy_spectral.Rule). */
typedef struct {
    int adaptive;
    int memory;             /* at most SPECTRAL_MEMORY */
    double first;
    double goal_gap, goal_norm;
    long long max_iter;
} spectral_rule;

enum { SPECTRAL_MEMORY = 64 };

/* What is called with the figures of a step, or NULL: 1 stops, -1 is a failure. */
typedef struct {
    void *self;
    int (*call)(void *self, const double *figures);
} spectral_callback;

typedef struct {
    long long n_iter;
    double n_reads, gap, objective, gradient_norm;
    ptrdiff_t n_recorded;
} spectral_result;

/* Minimise. `record` holds `capacity` rows of figures and is thinned when full. */
spectral_status spectral_iterate(const dual_problem *problem, double *scaled_multipliers,
                                 double *tau, double *primal_residual, const spectral_rule *rule,
                                 spectral_callback callback, double *record, ptrdiff_t capacity,
                                 spectral_result *result);

#endif
