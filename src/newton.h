/* Newton's steps on a small problem, as long as nothing but their length is to be decided:
 * what solvers/newton.py makes of each step, without the interpreter (docs/mathematics.md, section
 * 3.3). */
#ifndef ENTROPIC_NEWTON_H
#define ENTROPIC_NEWTON_H

#include "box.h"
#include "level.h"
#include "sweep.h"

/* A state and what one sweep found there. The caller gives the memory. */
typedef struct {
    double *state, *coef, *gradient, *curvature;        /* n, n, n, n * n for n features */
    double *functional_margins, *log_margins, *hessian_weights;
    double value, entropy, gap;
} newton_point;

typedef struct {
    const rows *view;
    const box *box;
    target target;
    const double *mean, *scale;     /* of the columns, or NULL (features/design.py) */
    int constant;                   /* whether the constant is a feature, the last */
    /* Steps end at `sharp`, after one that began at a gap within the goal, and after `most`. A step
     * must lower the objective by these shares of its slope. */
    double goal, sharp, armijo, promised, straight;
    ptrdiff_t most;
    /* Told of each point and the length of the step to it, 0 at the first; nonzero stops. */
    int (*told)(void *listener, double gap, double objective, double length);
    void *listener;
} newton_problem;

typedef struct {
    ptrdiff_t n_steps, n_reads;
    int polished;                   /* whether the last step began within the goal */
} newton_run;

/* Steps from the state of points[0]; where they end is in points[0]. Returns -1 where memory was
 * short. A trial that is not accepted counts as a read, and is left to the caller. */
int newton_steps(const newton_problem *p, newton_point points[2], newton_run *run);

#endif
