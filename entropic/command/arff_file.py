"""ARFF and KEEL files: liac-arff cuts their rows, after what it does not know is rewritten."""

from __future__ import annotations

import itertools
import math
import re

import pyarrow as pa
import pyarrow.compute as pc

from .cells import number_of
from .columns import NUMBER, TEXT
from .typed import TypedFile

_CHUNK_ROWS = 1 << 14
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{\[]+)\s*(.*)", re.IGNORECASE)
_UNCOMMENTED = re.compile(rf"""(?:[^%'"\\]|\\.|{_QUOTED})*""")
_SEPARATED = re.compile(rf"(?:[^\s,]*(?:{_QUOTED}))+|[^\s,]+")
_NUMERIC = re.compile(r"(?:real|numeric|integer)\s*(?:\[.*\])?", re.IGNORECASE)
_DATE = re.compile(r"date\b\s*(.*)", re.IGNORECASE)
# Java's letters of a date's form, and those of strptime
_LETTERS = [("yyyy", "%Y"), ("yy", "%y"), ("MM", "%m"), ("dd", "%d")]
_LETTERS += [("HH", "%H"), ("mm", "%M"), ("ss", "%S")]


class ArffFile(TypedFile):
    """An ARFF or KEEL file, dense or sparse; its columns are what it declares them to be."""

    def __init__(self, content, encoding):
        self.content, self._encoding = content, encoding
        self._declared, self._dates = [], {}
        names, kinds = [], []
        for number, line in self._lines():
            if line.lower().startswith("@data"):
                self._start = number
                break
            if not (match := _ATTRIBUTE.match(line)):
                continue
            names.append(re.sub(r"\\(.)", r"\1", match[1]))
            kinds.append(self._kind(names[-1], match[2].strip(), number))
        else:
            raise ValueError(f"{content.name}: the @data line is missing.")
        if not names:
            raise ValueError(f"{content.name} declares no @attribute.")
        super().__init__(content.name, names, kinds)

    def _kind(self, name, declaration, number):
        """The kind of a declared type, keeping what liac-arff is told of it."""
        nominal = declaration.startswith("{") and declaration.endswith("}")
        self._declared.append(declaration if nominal else "STRING")
        if nominal or declaration.lower() == "string":
            return TEXT
        if _NUMERIC.fullmatch(declaration):
            return NUMBER
        if date := _DATE.fullmatch(declaration):
            form = date[1].strip("\"'") or "yyyy-MM-dd'T'HH:mm:ss"
            for java, letters in _LETTERS:
                form = form.replace(java, letters)
            self._dates[len(self._declared) - 1] = form.replace("'", "")
            return NUMBER
        raise ValueError(
            f"{self.content.name}, line {number}: attribute {name} is declared as "
            f"{declaration[:40] or 'nothing'!r}, which is none of numeric, string, date and "
            "{...}; mend the line."
        )

    def _lines(self):
        """Pairs of number and line, without comments and blank lines."""
        with self.content.text(self._encoding) as lines:
            for number, line in enumerate(lines, 1):
                line = line.strip()
                if "%" in line:
                    kept = _UNCOMMENTED.match(line).end()
                    if line[kept : kept + 1] == "%":
                        line = line[:kept].rstrip()
                if line:
                    yield number, line

    def _rows(self):
        """Pairs of line number and cells of text, None for a missing one."""
        import arff

        number = self._start

        def lines():
            nonlocal number
            yield "@RELATION rows"
            for position, declaration in enumerate(self._declared):
                yield f"@ATTRIBUTE a{position} {declaration}"
            yield "@DATA"
            for number, line in self._lines():
                if number > self._start:
                    yield _with_commas(line)

        try:
            for row in arff.ArffDecoder().decode(lines(), return_type=arff.DENSE_GEN)["data"]:
                yield number, row
        except arff.ArffException as error:
            reason = (
                f"a row of {len(self.names)} attributes is expected"
                if isinstance(error, arff.BadDataFormat)
                else re.sub(r",? (?:at|in) line %d.*", "", error.message, flags=re.DOTALL)
            )
            place = "" if isinstance(error, arff.BadAttributeType) else f", line {number}"
            raise ValueError(f"{self.name}{place}: {reason}; mend the line.") from None

    def batches(self, columns, whole=False):
        """The rows as record batches of columns of NUMBER or TEXT; see ``TypedFile``."""
        schema, n_rows = pa.schema(columns.items()), 0
        positions = [self.names.index(name) for name in columns]
        rows = self._rows()
        while chunk := list(itertools.islice(rows, _CHUNK_ROWS)):
            lines, cells = zip(*chunk, strict=True)
            cells = list(zip(*cells, strict=True))
            arrays = [
                self._array(position, kind, cells[position], lines)
                for position, kind in zip(positions, columns.values(), strict=True)
            ]
            yield pa.record_batch(arrays, schema=schema)
            n_rows += len(chunk)
        if not n_rows:
            raise ValueError(f"{self.name} has no rows; give a file with rows.")

    def _array(self, position, kind, cells, lines):
        text = pa.array(cells, pa.string())
        if kind == TEXT:
            return text.dictionary_encode()
        try:
            if position in self._dates:
                moments = pc.strptime(text, self._dates[position], "s", error_is_null=False)
                return pc.divide(moments.cast(pa.int64()).cast(NUMBER), 86_400.0)
            return text.cast(NUMBER)
        except pa.ArrowInvalid:
            pass
        numbers = [
            math.nan if cell is None else None if position in self._dates else number_of(cell)
            for cell in cells
        ]
        if None in numbers:
            bad = next(i for i, number in enumerate(numbers) if number is None)
            raise ValueError(
                f"column {self.names[position]!r} holds {cells[bad]!r} in line {lines[bad]} of "
                f"{self.name}, which is not what its attribute declares; mend the cell."
            )
        return pa.array(numbers, NUMBER)

    def place(self, row):
        line, _ = next(itertools.islice(self._rows(), row, None))
        return f"line {line} of {self.name}"


def _with_commas(line):
    """A row whose cells only blanks part, with commas."""
    if line.startswith("{") or "," in re.sub(_QUOTED, "", line):
        return line
    return ",".join(_SEPARATED.findall(line))
