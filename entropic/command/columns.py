"""What the cells of a column turn out to be, and the column as numbers or as words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .cells import clean, number_of, word_of

NUMBER, TEXT = pa.float64(), pa.dictionary(pa.int32(), pa.string())


class Cells:
    """What the cells of one column turn out to be, over the batches of all files.

    Attributes
    ----------
    read_as_numbers : bool
        Whether Arrow read some as numbers, so that their text is not known.
    counts_up : bool
        Whether the column holds 0, 1, 2, ... or 1, 2, 3, ... in each file or over all of them.
    """

    def __init__(self, name, wanted):
        self.name, self.wanted = name, wanted
        self.known = self.numbers = self.likely = 0
        self.has_missing = False
        self.first_word = None
        self.read_as_numbers, self.counts_up, self.start, self._last = False, True, None, None

    def update(self, file, given, column, n_before):
        """Look at the column of a table or batch, before which a file has ``n_before`` rows."""
        if column.type == NUMBER:
            self.read_as_numbers = True
            ends = pc.min_max(column).as_py().values()
            infinite = not {np.inf, -np.inf}.isdisjoint(ends)
            place = pc.index(pc.is_inf(column), True).as_py() if infinite else -1
            self.known += len(column) - column.null_count
            self.numbers += len(column) - column.null_count
            self.has_missing |= column.null_count > 0
            self.counts_up = self.counts_up and self._goes_on(column.to_numpy(zero_copy_only=False))
        else:
            self.counts_up = False
            if self.wanted == TEXT:
                self.has_missing = True
                return
            place = self._update_text(file, given, column, n_before)
        if place >= 0:
            raise ValueError(
                f"column {self.name!r} holds infinity in {file.place(n_before + place)}; empty "
                "the cell or --drop the column."
            )

    def _update_text(self, file, given, column, n_before):
        values, codes = distinct(column)
        numbers, words = numbers_in(values, file, given)
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        known = words | ~np.isnan(numbers)
        self.known += int(counts[known].sum())
        self.numbers += int(counts[known & ~words].sum())
        self.has_missing |= not known.all() or -1 in codes or not _all_filled(values)
        for code in np.flatnonzero(words):
            cell = values[code].as_py()
            self.likely += int(counts[code]) * any(
                number_of(cell, sign) is not None for sign in ".,"
            )
        if words.any() and self.first_word is None:
            row = int(np.argmax(np.append(words, False)[codes]))
            self.first_word = values[codes[row]].as_py(), file, n_before + row
        infinite = np.append(np.isinf(numbers), False)[codes]
        return int(np.argmax(infinite)) if infinite.any() else -1

    def _goes_on(self, values):
        if not len(values):
            return True
        start, last = values[0], self._last
        if start not in (0, 1) and (last is None or start != last + 1):
            return False
        self.start = start if self.start is None else self.start
        self._last = values[-1]
        return bool((values == start + np.arange(len(values))).all())

    def kind(self):
        """NUMBER or TEXT.

        Raises
        ------
        ValueError
            If a column of numbers has a cell that is none; the message names it.
        """
        if self.wanted == TEXT:
            return TEXT
        if self.first_word is None:
            return NUMBER
        if self.wanted is None and 2 * (self.numbers + self.likely) < self.known:
            return TEXT
        cell, file, row = self.first_word
        others = "the training rows have numbers" if self.wanted else "other cells are numbers"
        remedy = (
            f"give --missing {cell!r} to take it as missing, --words {self.name!r} to take the "
            f"column as words, or --drop {self.name!r}"
        )
        signs = [sign for sign in ".," if number_of(cell, sign) is not None]
        if len(signs) == 2:
            remedy = "say with --decimal , or --decimal . what the comma is"
        elif signs:
            remedy = f"if its decimal sign is {signs[0]!r}, give --decimal {signs[0]}"
        raise ValueError(
            f"column {self.name!r} holds {cell!r} in {file.place(row)}, where {others}; {remedy}."
        )


def read_off(cells, decimal, nothing):
    """Cells of TEXT as numbers, null where missing, if Arrow reads each of them as one.

    Parameters
    ----------
    cells : Arrow array of TEXT
    decimal : {".", ",", None}
    nothing : Arrow array of str
        What a missing cell looks like.
    """
    known = pc.utf8_trim_whitespace(cells.dictionary)
    known = pc.if_else(pc.is_in(known, value_set=nothing), None, known)
    try:
        return _cast(known, decimal).take(cells.indices)
    except pa.ArrowInvalid:
        return cells


def _cast(text, decimal):
    if decimal == ",":
        if pc.any(pc.match_substring(text, ".")).as_py():
            raise pa.ArrowInvalid("points among decimal commas")
        text = pc.replace_substring(text, ",", ".")
    numbers = text.cast(NUMBER)
    if pc.any(pc.is_nan(numbers)).as_py():
        raise pa.ArrowInvalid("nan is a missing cell, or none")
    return numbers


def distinct(column):
    """The different cells of a dictionary column, and each row's position among them or -1."""
    return column.dictionary, column.indices.fill_null(-1).to_numpy(zero_copy_only=False)


def numbers_in(values, file, given):
    """What cells of text are as numbers; see ``number_of``.

    Parameters
    ----------
    values : Arrow array of str
    file : file of a source
    given : Dialect
        What the user says of text; the file's own goes before it.

    Returns
    -------
    numbers : array
        NaN where a cell is missing, or a word.
    words : bool array
    """
    decimal = file.dialect.decimal if file.dialect else "."
    missing = (file.dialect or given).missing
    found = [number_of(cell, decimal, missing) for cell in values.to_pylist()]
    words = np.array([number is None for number in found], dtype=bool)
    return np.array([np.nan if number is None else number for number in found]), words


def words_in(values, file, given, as_written=False):
    """What cells of text are as words, "" where they are missing; or all as they are written."""
    missing = (file.dialect or given).missing
    return [clean(v) if as_written else word_of(v, missing) for v in values.to_pylist()]


def as_numbers(column, file, given):
    """A column of text as one of numbers."""
    values, codes = distinct(column)
    numbers, _ = numbers_in(values, file, given)
    return pa.array(np.append(numbers, np.nan)[codes], from_pandas=True)


def as_words(column, file, given, as_written=False):
    """A column of text as a dictionary of different words."""
    values, codes = distinct(column)
    words = [*words_in(values, file, given, as_written), ""]
    unique = {word: code for code, word in enumerate(dict.fromkeys(words))}
    recoded = np.array([unique[word] for word in words], dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(recoded[codes]), pa.array(list(unique)))


def _all_filled(values):
    return all(map(word_of, values.to_pylist()))
