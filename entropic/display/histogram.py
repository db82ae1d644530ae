"""The scores of labelled rows, class by class, with the band."""

from __future__ import annotations

import numpy as np

from entropic.uncertainty.several import class_scores

from .axes import Display, axes_or_new, named_class, predicted, scored, styles


class ScoreHistogramDisplay(Display):
    """Histogram of the scores, class by class, with the band.

    Of two classes, or with ``class_label``, the scores of one class in two histograms: of its rows
    and of the others. Of several classes without ``class_label``, a line for each class with both
    histograms of its own scores, each as high as the line; the lowest hundredth of all scores is
    not shown, as far as it is of the others and below every band.

    Parameters
    ----------
    scores : array of shape (n_samples,) or (n_samples, n_classes)
        Of two classes those of the second.
    codes : int array of shape (n_samples,)
        The place of each row's class in ``classes``.
    band : tuple of two floats, array of shape (n_classes, 2), or None
    classes : sequence of labels
    class_label : label or None
        The class whose scores are drawn.
    """

    def __init__(self, scores, codes, band=None, classes=(0, 1), class_label=None):
        self.scores, self.codes = np.asarray(scores), np.asarray(codes)
        self.band, self.classes, self.class_label = band, classes, class_label
        if class_label is not None:
            named_class(class_label, classes)

    @classmethod
    def from_estimator(cls, estimator, X, y, *, class_label=None, ax=None, **kwargs):
        """Scores of a fitted classifier on labelled rows.

        Parameters
        ----------
        estimator : fitted EntropicClassifier, or a pipeline that ends in one
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        class_label : label or None
            The class whose scores are drawn; None for ``classes_[1]`` of two, and for all of
            several.
        ax : matplotlib axes or None

        Returns
        -------
        ScoreHistogramDisplay

        Raises
        ------
        NotFittedError
            If the estimator has not been fitted.
        ValueError
            If the estimator is another, or y or ``class_label`` is not among its classes.
        ImportError
            If matplotlib is not installed.
        """
        last, scores, codes = scored(estimator, X, y)
        display = cls(scores, codes, last._score_limits(), last.classes_, class_label)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, y_true, scores, *, band=None, labels=None, class_label=None, ax=None, **kwargs
    ):
        """Scores already known.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            One number a row: positive ones mean the second class.
        band : tuple of two floats, array of shape (n_classes, 2), or None
        labels : array of shape (n_classes,) or None
            The classes in the order of the columns; None for the sorted labels of ``y_true``.
        class_label, ax
            As in :meth:`from_estimator`.

        Returns
        -------
        ScoreHistogramDisplay

        Raises
        ------
        ValueError
            If shapes or labels do not agree, a score is not finite, or ``class_label`` is not among
            the labels.
        ImportError
            If matplotlib is not installed.
        """
        classes, scores, codes = predicted(y_true, scores, "scores", labels)
        return cls(scores, codes, band, classes, class_label).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, bins=40, **kwargs):
        """Draw; keyword arguments go to ``ax.hist``, or ``ax.stairs`` where all classes are drawn.

        Returns
        -------
        ScoreHistogramDisplay
        """
        ax = axes_or_new(ax)
        scores, bands = class_scores(self.scores), self.band
        if bands is not None and np.ndim(bands) == 1:
            bands = np.array([[-bands[1], -bands[0]], bands])
        if len(self.classes) > 2 and self.class_label is None:
            self._all(ax, scores, bands, bins, kwargs)
        else:
            code = 1 if self.class_label is None else named_class(self.class_label, self.classes)
            self._one(
                ax, code, scores[:, code], None if bands is None else bands[code], bins, kwargs
            )
        ax.axvline(0.0, color="black", linewidth=1.0, zorder=0.5)
        return self._remember(ax)

    def _one(self, ax, code, scores, band, bins, kwargs):
        """The scores of one class, in rows."""
        edges = np.histogram_bin_edges(scores, bins)
        style = styles(len(self.classes))
        if len(self.classes) == 2:
            parts = [(name, style[place]["color"]) for place, name in enumerate(self.classes)]
            members = [self.codes == place for place in (0, 1)]
        else:
            parts = [("the others", "0.5"), (self.classes[code], style[code]["color"])]
            members = [self.codes != code, self.codes == code]
        for (name, colour), rows in zip(parts, members, strict=True):
            options = {"alpha": 0.6, "color": colour, **kwargs}
            ax.hist(scores[rows], edges, label=str(name), **options)
        if band is not None:
            # an open end reaches to the edge of the picture
            ends = np.where(np.isfinite(band), band, ax.get_xlim())
            ax.axvspan(*ends, color="0.5", alpha=0.2, label="uncertain band")
        whose = "" if self.class_label is None else f" of {self.class_label}"
        ax.set(xlabel=f"score{whose}", ylabel="rows")
        ax.legend()

    def _all(self, ax, scores, bands, bins, kwargs):
        """A line for each class: its scores of the others' rows, and before them of its own."""
        n_classes = len(self.classes)
        lines = -np.arange(n_classes)
        owned = self.codes[:, None] == np.arange(n_classes)
        ends = np.ravel([] if bands is None else bands)
        ends, foot = ends[np.isfinite(ends)], np.repeat(lines, 2)[np.isfinite(ends)]
        lowest = np.min([np.quantile(scores, 0.01), *scores[owned], *ends])
        for line, look, values, own in zip(
            lines, styles(n_classes), scores.T, owned.T, strict=True
        ):
            ax.axhline(line, color="0.5", linewidth=0.5)
            edges = np.histogram_bin_edges(values[values >= lowest], bins)
            for members, colour in ((~own, "0.7"), (own, look["color"])):
                counts = np.histogram(values[members], edges)[0]
                heights = line + 0.85 * counts / max(1, counts.max())
                style = {"fill": True, "alpha": 0.7, "color": colour, **kwargs}
                ax.stairs(heights, edges, baseline=line, **style)
        ax.fill([], [], color="0.7", alpha=0.7, label="the others")
        if bands is not None:
            style = {"colors": "black", "linestyles": "dashed", "linewidths": 1.0}
            ax.vlines(ends, foot, foot + 0.9, label="limits of the band", **style)
        ax.set(xlabel="score of the class", ylim=(lines[-1] - 0.1, 1 + 0.1 * n_classes))
        ax.set_yticks(lines, [str(label) for label in self.classes])
        ax.legend(loc="upper center", ncols=2, framealpha=1)  # in the tenth above the first line
