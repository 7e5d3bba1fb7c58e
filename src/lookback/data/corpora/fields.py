"""Takes the two text fields out of tables of records, and checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from lookback.common.errors import InputError
from lookback.common.suggestions import one_of
from lookback.data.corpora.corpus import SIDES
from lookback.data.corpora.lines import LONGEST_LINE

if TYPE_CHECKING:
    import pyarrow as pa


def text_columns(
    table: pa.Table,
    fields: Mapping[str, str],
    where: str,
    first_row: int | None,
    fill: bool,
    refuse: Callable[[str], None],
) -> pa.Table:
    """The columns ``source`` and ``target`` of some rows, checked.

    Args:
        table: the rows.
        fields: the two fields that hold the texts; the keys are the settings that name them.
        where: the origin of the rows, for messages.
        first_row: the number of the first row there; None if it is not known.
        fill: whether a text that is None counts as empty; otherwise it is refused.
        refuse: called with a field that holds no text. It may raise an InputError that names the line.

    Raises:
        InputError: for a field that is not there or holds no text, and for a text that is None, too long or invalid
            UTF-8, or has a NUL.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    known = dict(_leaf_fields(table.schema))
    columns = []
    for key, field in fields.items():
        if field not in known:
            raise InputError(f"{key}={field}: no such field in {where}; expected {one_of(known, field)}")
        if not _is_text(known[field]):
            refuse(field)
            texts = ", ".join(name for name, kind in known.items() if _is_text(kind))
            expected = f"expected text, as in {texts}" if texts else "expected text"
            raise InputError(f"{key}={field}: holds {known[field]} in {where}; {expected}")
        column = _column(table, field).cast(pa.string())
        if fill:
            column = column.fill_null("")
        bad = pc.or_(pc.greater(pc.binary_length(column), LONGEST_LINE), pc.match_substring(column, "\0"))
        try:
            column.validate(full=True)
            is_valid = not column.null_count and not pc.any(bad).as_py()
        except pa.ArrowInvalid:
            is_valid = False
        if not is_valid:
            _refuse(column, field, where, first_row)
        columns.append(column)
    return pa.table(columns, names=list(SIDES))


def _refuse(column: pa.ChunkedArray, field: str, where: str, first_row: int | None) -> NoReturn:
    import pyarrow as pa

    for row, value in enumerate(column.cast(pa.binary()).to_pylist()):
        at = where if first_row is None else f"{where}, row {first_row + row} (from 0)"
        if value is None:
            raise InputError(f"{at}: no text in {field} (None), expected text in every row outside training")
        if len(value) > LONGEST_LINE:
            raise InputError(f"{at}: a text of {len(value):,} bytes in {field}, expected {LONGEST_LINE:,} at most")
        if b"\0" in value:
            raise InputError(f"{at}: holds a NUL in {field} (is it binary?), expected text")
        try:
            value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{at}: invalid UTF-8 at byte {error.start + 1} of {field}, expected text") from error
    raise AssertionError(f"{where}: refused without a reason")


def _column(table: pa.Table, field: str) -> pa.ChunkedArray:
    """The column of a field. A dot leads into a field of a field, unless it is part of a name."""
    import pyarrow.compute as pc

    name = next(name for name in table.column_names if field == name or field.startswith(f"{name}."))
    column = table.column(name)
    inside = field.removeprefix(name).removeprefix(".")
    return pc.struct_field(column, inside.split(".")) if inside else column


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    # a column that holds only None has the type null
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)


def _leaf_fields(schema: Any, prefix: str = "") -> Iterator[tuple[str, pa.DataType]]:
    """The name and type of every field that is not a struct. A field inside a field has a dot: "translation.de"."""
    import pyarrow as pa

    for field in schema:
        if pa.types.is_struct(field.type):
            yield from _leaf_fields(field.type, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field.type
