/* Names of the functions that are compiled once a level of x86-64.
 *
 * Every file of kernels is compiled with ENTROPIC_LEVEL defined, once a level with the instruction
 * set of that level, and each function that another file calls then carries the level in its name.
 * One that is missing here is defined twice, which the linker refuses. levels.h calls them.
 */
#ifndef ENTROPIC_LEVEL_H
#define ENTROPIC_LEVEL_H

#ifdef ENTROPIC_LEVEL

#define LEVEL_JOIN(name, level) name##_##level
#define LEVEL_EXPAND(name, level) LEVEL_JOIN(name, level)
#define LEVELLED(name) LEVEL_EXPAND(name, ENTROPIC_LEVEL)

#define add_partials LEVELLED(add_partials)
#define bands_multiply LEVELLED(bands_multiply)
#define block_add LEVELLED(block_add)
#define block_add_dot LEVELLED(block_add_dot)
#define block_add_squares LEVELLED(block_add_squares)
#define block_copy LEVELLED(block_copy)
#define block_copy_scratch LEVELLED(block_copy_scratch)
#define block_dot LEVELLED(block_dot)
#define block_open LEVELLED(block_open)
#define block_open_copy LEVELLED(block_open_copy)
#define block_open_spread LEVELLED(block_open_spread)
#define block_rows LEVELLED(block_rows)
#define block_scratch LEVELLED(block_scratch)
#define box_curvature_along LEVELLED(box_curvature_along)
#define box_coef LEVELLED(box_coef)
#define box_coef_at LEVELLED(box_coef_at)
#define box_conjugate LEVELLED(box_conjugate)
#define box_gap LEVELLED(box_gap)
#define box_moved LEVELLED(box_moved)
#define box_inverse_hessian_root LEVELLED(box_inverse_hessian_root)
#define box_value_at LEVELLED(box_value_at)
#define curvature_add LEVELLED(curvature_add)
#define curvature_begin LEVELLED(curvature_begin)
#define curvature_end LEVELLED(curvature_end)
#define curvature_fits LEVELLED(curvature_fits)
#define curvature_fold LEVELLED(curvature_fold)
#define curvature_scratch LEVELLED(curvature_scratch)
#define dual_aim LEVELLED(dual_aim)
#define dual_free LEVELLED(dual_free)
#define dual_gap LEVELLED(dual_gap)
#define dual_new LEVELLED(dual_new)
#define dual_read LEVELLED(dual_read)
#define dual_trial LEVELLED(dual_trial)
#define loss_block LEVELLED(loss_block)
#define loss_of LEVELLED(loss_of)
#define loss_prepare LEVELLED(loss_prepare)
#define micro_tile_forms LEVELLED(micro_tile_forms)
#define micro_tile_squares LEVELLED(micro_tile_squares)
#define mirror_lower LEVELLED(mirror_lower)
#define monomial_block_add LEVELLED(monomial_block_add)
#define monomial_block_add_squares LEVELLED(monomial_block_add_squares)
#define monomial_block_copy LEVELLED(monomial_block_copy)
#define monomial_block_dot LEVELLED(monomial_block_dot)
#define monomial_block_open LEVELLED(monomial_block_open)
#define monomial_block_rows LEVELLED(monomial_block_rows)
#define monomial_block_scratch LEVELLED(monomial_block_scratch)
#define partial LEVELLED(partial)
#define partials_free LEVELLED(partials_free)
#define partials_new LEVELLED(partials_new)
#define partials_sum LEVELLED(partials_sum)
#define plan_chunks LEVELLED(plan_chunks)
#define rows_choose_kind LEVELLED(rows_choose_kind)
#define rows_spread LEVELLED(rows_spread)
#define samples_gap LEVELLED(samples_gap)
#define samples_residuals LEVELLED(samples_residuals)
#define samples_value LEVELLED(samples_value)
#define spectral_iterate LEVELLED(spectral_iterate)
#define sweep_rmatvec LEVELLED(sweep_rmatvec)
#define sweep_curvature LEVELLED(sweep_curvature)
#define sweep_evaluate LEVELLED(sweep_evaluate)
#define sweep_gram LEVELLED(sweep_gram)
#define sweep_moments LEVELLED(sweep_moments)
#define sweep_pairs LEVELLED(sweep_pairs)
#define sweep_hessp LEVELLED(sweep_hessp)
#define sweep_quadratic_forms LEVELLED(sweep_quadratic_forms)
#define sweep_scores LEVELLED(sweep_scores)
#define walk_chunk LEVELLED(walk_chunk)
#define walk_next LEVELLED(walk_next)

#endif

#endif
