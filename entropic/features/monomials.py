"""Monomials: the features of a polynomial, in scikit-learn's order, never stored unless asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from entropic import checks
from entropic.model_format import stored
from entropic.rollback import all_or_nothing
from entropic.rows import rows_of
from entropic.rows.dense import even_ranges
from entropic.rows.monomial_rows import MonomialRows
from entropic.typing import Labels, Rows

from . import limits


@stored("Monomials")
class Monomials(TransformerMixin, BaseEstimator):
    """All products of up to ``degree`` features: the listing k -> n(k) of the paper's section 2.

    Names and order of the columns are those of scikit-learn's PolynomialFeatures. Columns are
    made a block of rows at a time, from those of one degree less.

    Parameters
    ----------
    degree : int
        At least 1.
    interaction_only : bool
        Leave out powers of a single feature above the first.
    include_bias : bool
        Have the monomial of degree 0, a column of ones, in front, as in PolynomialFeatures.

    Attributes
    ----------
    n_features_in_ : int
    n_output_features_ : int
        Columns of the output: C(n_features + degree, degree), less one without the constant;
        a Python int, whatever its size.
    feature_names_in_ : array of str
    centre_, inverse_scale_ : arrays of shape (n_features,) or None
        Set where a classifier standardises its features: the monomials are then those of
        ``(X - centre_) * inverse_scale_``. None for monomials of X itself.
    columns_ : int64 array or None
        Set where a classifier on sparse data has left out the monomials that no row fills: the
        places in the whole listing of those that there are.

    Examples
    --------
    >>> Monomials(2).fit_transform([[2.0, 3.0]])
    array([[2., 3., 4., 6., 9.]])
    """

    def __init__(
        self, degree: int = 2, *, interaction_only: bool = False, include_bias: bool = False
    ) -> None:
        self.degree = degree
        self.interaction_only = interaction_only
        self.include_bias = include_bias

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Rows, y: object = None) -> Monomials:
        """Learn the number of features, and with it the number of monomials.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or X cannot be used.
        """
        checks.check_count(self.degree, "degree")
        checks.check_flag(self.interaction_only, "interaction_only")
        checks.check_flag(self.include_bias, "include_bias")
        with all_or_nothing(self):
            X = self._check(X, reset=True)
        return self._describe(X.shape[1])

    def _describe(self, n_features, centre=None, inverse_scale=None, columns=None):
        """Set the fitted attributes; the classifier's way in, which has checked its X."""
        self.n_features_in_ = n_features
        self.centre_, self.inverse_scale_, self.columns_ = centre, inverse_scale, columns
        n_columns = self._listing.n_monomials if columns is None else len(columns)
        self.n_output_features_ = n_columns + bool(self.include_bias)
        return self

    @property
    def _listing(self):
        return limits.listing_of(self.n_features_in_, self.degree, self.interaction_only)

    def _check(self, X, reset=False):
        checks.check_rows(X, "X")
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_all_finite=False,
        )
        checks.check_finite(X, "X", getattr(self, "feature_names_in_", None))
        return X

    def check(self, n_features: int, n_coefficients: int) -> None:
        """Refuse fitted attributes, as of a file, that do not fit each other or a model's."""
        checks.check_count(self.degree, "degree")
        checks.check_flag(self.interaction_only, "interaction_only")
        if self.n_features_in_ != n_features or n_features < 1 or self.include_bias:
            raise ValueError("its monomials do not fit its features")
        # with every monomial listed a file holds as many coefficients as it asks for; else
        # features are only counted, and that must not ask for more than there is
        limits.check_memory(16 * n_features * self.degree, "its features", "it is damaged")
        listing = self._listing
        for array in (self.centre_, self.inverse_scale_):
            if array is not None and not (
                checks.is_array(array, "f", self.n_features_in_) and np.isfinite(array).all()
            ):
                raise ValueError("its features' standards are damaged")
        n_columns, columns = listing.n_monomials, self.columns_
        if columns is not None:
            n_columns = len(columns)
            ends = np.concatenate([[-1], columns, [listing.n_monomials]])
            if not (checks.is_array(columns, "i", n_columns) and (np.diff(ends) > 0).all()):
                raise ValueError("its list of monomials is damaged")
        if not n_columns == self.n_output_features_ == n_coefficients:
            raise ValueError("its coefficients do not fit its monomials")

    def rows(self, X: Any) -> Any:
        """The monomials of checked rows, for sweeps: nothing is expanded.

        Parameters
        ----------
        X : float array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        rows object (rows/dense.py), without the constant

        Raises
        ------
        ValueError
            If there are more monomials than can be numbered, or a product overflows.
        """
        if self.degree == 1:
            return rows_of(X)
        limits.check_numbered(self._listing)
        limits.check_powers(X, self.degree, self.centre_, self.inverse_scale_)
        # Rows of the other kind than those that the classifier was fitted on.
        if self.columns_ is not None and not sp.issparse(X):
            X = sp.csr_array(X)
        elif self.centre_ is not None and sp.issparse(X):
            X = limits.stored(X)
        base = rows_of(X)
        if self.centre_ is not None:
            base = base.centred(self.centre_)
        return MonomialRows(base, self._listing, self.inverse_scale_, self.columns_)

    def transform(self, X: Rows) -> Any:
        """The monomials of X, stored.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array, or CSR where X is sparse, of shape (n_samples, n_output_features_)
            float32 for float32, float64 otherwise.

        Raises
        ------
        ValueError
            If the output does not fit in memory, or a product overflows.
        """
        check_is_fitted(self)
        X = self._check(X)
        rows = self.rows(X)
        limits.check_powers(
            X, self.degree, self.centre_, self.inverse_scale_, np.finfo(X.dtype).max
        )
        limits.check_block(self._listing, rows_of(X))
        if sp.issparse(X):
            entries = rows.n_entries
            limits.check_memory(
                32 * entries, f"{entries} products", "use blocks(X) or lower degree"
            )
            parts = list(self._blocks(rows, X, rows.ranges()))
            return type(X)(sp.vstack(parts, format="csr"))
        shape = (X.shape[0], self.n_output_features_)
        limits.check_memory(
            shape[0] * shape[1] * X.itemsize,
            f"{limits.monomials_called(self._listing)}; {shape[0]} rows of them",
            "use blocks(X) or lower degree",
        )
        out = np.empty(shape, dtype=X.dtype)
        for (start, stop), block in zip(
            rows.ranges(), self._blocks(rows, X, rows.ranges()), strict=True
        ):
            out[start:stop] = block
        return out

    def blocks(self, X: Rows, rows: int = 256) -> Iterator[Any]:
        """The monomials of X, a few rows at a time.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        rows : int
            Rows in a block; the last block may have fewer.

        Yields
        ------
        array, or CSR where X is sparse, of shape (rows, n_output_features_)
        """
        check_is_fitted(self)
        checks.check_count(rows, "rows")
        X = self._check(X)
        source = self.rows(X)
        limits.check_powers(
            X, self.degree, self.centre_, self.inverse_scale_, np.finfo(X.dtype).max
        )
        limits.check_block(self._listing, rows_of(X), int(rows))
        return self._blocks(source, X, even_ranges(X.shape[0], int(rows)))

    def _blocks(self, rows, X, ranges):
        for start, stop in ranges:
            block = rows.block(start, stop)
            if sp.issparse(block) and not sp.issparse(X):
                block = block.toarray()
            if self.include_bias:
                ones = np.ones((stop - start, 1))
                join = sp.hstack if sp.issparse(X) else np.hstack
                block = join([ones, block])
            if sp.issparse(X):
                yield type(X)(block, dtype=X.dtype)
            else:
                yield np.ascontiguousarray(block, dtype=X.dtype)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Labels:
        """Names of the columns, as "x0", "x0^2", "x0 x1".

        Parameters
        ----------
        input_features : array of str or None
            Names of the features; None takes those seen in fit, or x0, x1, ...

        Returns
        -------
        object array of shape (n_output_features_,)
        """
        check_is_fitted(self)
        names = self._input_names(input_features)
        limits.check_memory(
            100 * self.n_output_features_,
            f"{limits.monomials_called(self._listing)}; a list of their names",
            "lower degree",
        )
        n_columns = self.n_output_features_ - bool(self.include_bias)
        listed = ["1"] if self.include_bias else []
        return np.asarray([*listed, *self.names_of(range(n_columns), names)], dtype=object)

    def names_of(self, places: Iterable[int], names: Any = None) -> list[str]:
        """Names of some of the columns, counted without the constant, as a list of str.

        They are made of the names of the features given, or else of those seen in fit.
        """
        names = self._input_names(None) if names is None else names
        return [_name(features, names) for features in self.factors(places)]

    def factors(self, places: Iterable[int] | None = None) -> Iterator[tuple[int, ...]]:
        """The features of each product, repeated as often as their power, as tuples."""
        if places is None:
            places = range(self.n_output_features_ - bool(self.include_bias))
        columns = places if self.columns_ is None else self.columns_[np.asarray(places, np.intp)]
        return map(self._listing.features_of, columns)

    def raw_factors(self) -> Any:
        """What takes coefficients to those of products of raw features less ``centre_``.

        Returns
        -------
        array of shape (n_output_features_,), or 1.0 where features are taken as they are
        """
        if self.inverse_scale_ is None:
            return 1.0
        factors = self._listing.expand(self.inverse_scale_[:, None])[:, 0]
        return factors if self.columns_ is None else factors[self.columns_]

    def _input_names(self, input_features):
        seen = getattr(self, "feature_names_in_", None)
        if input_features is None:
            if seen is not None:
                return seen
            return [f"x{i}" for i in range(self.n_features_in_)]
        names = np.asarray(input_features, dtype=object)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"input_features should have length equal to the number of features, "
                f"{self.n_features_in_}, and has {len(names)} entries."
            )
        if seen is not None and not np.array_equal(seen, names):
            raise ValueError("input_features is not equal to feature_names_in_; leave it out.")
        return names


def _name(features, names):
    """ "x0^2 x1" for (0, 0, 1)."""
    powers = {}
    for feature in features:
        powers[feature] = powers.get(feature, 0) + 1
    return " ".join(
        names[feature] if power == 1 else f"{names[feature]}^{power}"
        for feature, power in powers.items()
    )
