/* The table of one level's functions. */
#include "kernels.h"

extern const kernels LEVELLED(kernels);

#define VALUE(name) name,
const kernels LEVELLED(kernels) = {EACH_KERNEL(VALUE)};
