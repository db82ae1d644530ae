/* Which level of x86-64 the kernels run at, chosen once they are loaded and changed by tests. */
#ifndef ENTROPIC_LEVELS_H
#define ENTROPIC_LEVELS_H

#include "kernels.h"

/* The functions of the level in use; none before level_use. */
extern const kernels *kernels_in_use;
#define IN_USE(name) (kernels_in_use->name##_)

/* Names of the levels that were built, best first: NULL from the last on. */
const char *level_name(int level);

/* Whether this machine has the instructions of a level. */
int level_supported(int level);

/* Not while a sweep runs. */
void level_use(int level);

#endif
