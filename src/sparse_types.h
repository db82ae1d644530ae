/* Loops over sparse rows for every type of value and of index.
 *
 * Include with SPARSE_LOOPS defined as the file of the loops, which see T (value), INDEX (column)
 * and NAME (a suffix for functions).
 */
#define T double
#define INDEX int32_t
#define NAME(name) name##_double_narrow
#include SPARSE_LOOPS
#undef INDEX
#undef NAME

#define INDEX int64_t
#define NAME(name) name##_double_wide
#include SPARSE_LOOPS
#undef T
#undef INDEX
#undef NAME

#define T float
#define INDEX int32_t
#define NAME(name) name##_float_narrow
#include SPARSE_LOOPS
#undef INDEX
#undef NAME

#define INDEX int64_t
#define NAME(name) name##_float_wide
#include SPARSE_LOOPS
#undef T
#undef INDEX
#undef NAME

#undef SPARSE_LOOPS
