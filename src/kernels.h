/* The table of a level's functions: what the bindings call, at the level in use. */
#ifndef ENTROPIC_KERNELS_H
#define ENTROPIC_KERNELS_H

#include "box.h"
#include "curvature.h"
#include "left_out.h"
#include "level.h"
#include "loss.h"
#include "newton.h"
#include "rows.h"
#include "samples.h"
#include "several.h"
#include "spectral.h"
#include "sweep.h"

#define EACH_KERNEL(X)                                                                           \
    X(box_coef_at) X(box_gap) X(box_inverse_hessian_root) X(box_moved) X(box_value_at)           \
    X(curvature_fits) X(curvatures_together) X(left_out_fill) X(left_out_score) X(loss_block) X(loss_of)                \
    X(loss_prepare) X(newton_steps) X(rows_choose_kind) X(samples_certificate)                   \
    X(spectral_iterate) X(sweep_cubic_forms) X(sweep_curvature) X(sweep_evaluate) X(sweep_gram)  \
    X(sweep_hessp) X(samples_changed)                                                            \
    X(sweep_moments) X(sweep_pairs) X(sweep_quadratic_forms) X(sweep_rmatvec) X(sweep_scores)

/* The underscore keeps level.h from renaming members. */
#define MEMBER(name) __typeof__(name) *name##_;
typedef struct {
    EACH_KERNEL(MEMBER)
} kernels;
#undef MEMBER

#endif
