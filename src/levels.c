/* The levels that were built, and the one in use. */
#include "levels.h"

extern const kernels kernels_baseline;
#ifdef ENTROPIC_X86_LEVELS
extern const kernels kernels_x86_64_v3, kernels_x86_64_v4;
#endif

static const struct {
    const char *name;
    const kernels *kernels;
} levels[] = {
#ifdef ENTROPIC_X86_LEVELS
    {"x86-64-v4", &kernels_x86_64_v4},
    {"x86-64-v3", &kernels_x86_64_v3},
#endif
    {"baseline", &kernels_baseline},
};

const kernels *kernels_in_use;

const char *level_name(int level)
{
    return level < (int)(sizeof levels / sizeof *levels) ? levels[level].name : NULL;
}

int level_supported(int level)
{
#ifdef ENTROPIC_X86_LEVELS
    __builtin_cpu_init();
    if (levels[level].kernels == &kernels_x86_64_v4) return __builtin_cpu_supports("x86-64-v4");
    if (levels[level].kernels == &kernels_x86_64_v3) return __builtin_cpu_supports("x86-64-v3");
#endif
    (void)level;
    return 1;
}

void level_use(int level)
{
    kernels_in_use = levels[level].kernels;
    IN_USE(loss_prepare)();
}
