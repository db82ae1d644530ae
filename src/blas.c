/* Matrix products by the BLAS: its arrays are by columns, so it sees ours transposed. */
#include "blas.h"

typedef void (*syrk)(char *, char *, int *, int *, double *, double *, int *, double *, double *,
                     int *);
typedef void (*gemm)(char *, char *, int *, int *, int *, double *, double *, int *, double *,
                     int *, double *, double *, int *);
typedef void (*potrf)(char *, int *, double *, int *, int *);
typedef void (*potrs)(char *, int *, int *, double *, int *, double *, int *, int *);

static syrk dsyrk;
static gemm dgemm;
static potrf dpotrf;
static potrs dpotrs;

void blas_load(void *dsyrk_address, void *dgemm_address, void *dpotrf_address,
               void *dpotrs_address)
{
    dsyrk = (syrk)dsyrk_address;
    dgemm = (gemm)dgemm_address;
    dpotrf = (potrf)dpotrf_address;
    dpotrs = (potrs)dpotrs_address;
}

static void squares(char *trans, const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n,
                    double *out, ptrdiff_t ld_out)
{
    int order = (int)n, k = (int)depth, lda = (int)ld, ldc = (int)ld_out;
    double one = 1;
    dsyrk("U", trans, &order, &k, &one, (double *)a, &lda, &one, out, &ldc);
}

void blas_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                  ptrdiff_t ld_out)
{
    squares("N", a, ld, depth, n, out, ld_out);
}

void blas_row_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                      ptrdiff_t ld_out)
{
    squares("T", a, ld, depth, n, out, ld_out);
}

void blas_product(const double *a, ptrdiff_t ld_a, int a_turned, const double *b, ptrdiff_t ld_b,
                  int b_turned, ptrdiff_t n, ptrdiff_t m, ptrdiff_t depth, double *out,
                  ptrdiff_t ld_out)
{
    int rows = (int)m, columns = (int)n, k = (int)depth;
    int lda = (int)ld_b, ldb = (int)ld_a, ldc = (int)ld_out;
    double one = 1;
    dgemm(b_turned ? "T" : "N", a_turned ? "T" : "N", &rows, &columns, &k, &one, (double *)b,
          &lda, (double *)a, &ldb, &one, out, &ldc);
}

int blas_cholesky_solve(double *matrix, ptrdiff_t n, double *x)
{
    int order = (int)n, one = 1, failed = 1;
    if (n == 0) return failed;
    dpotrf("U", &order, matrix, &order, &failed);
    if (failed == 0) dpotrs("U", &order, &one, matrix, &order, x, &order, &failed);
    return failed;
}
