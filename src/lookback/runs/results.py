"""`test/results.json`: the numbers of one run, checked against their schema and read back."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lookback.common.errors import InputError
from lookback.common.files import parse_json, read_regular, write_json
from lookback.common.suggestions import listed, nearest
from lookback.common.visible_text import visible
from lookback.runs.schema import SCHEMA, SCHEMA_VERSION, TRAINING_DATA, Field, Results, fields_of

_LARGEST = 10_000_000
"""Bytes. Files of ours have some thousands."""
NEW_IN_4 = ("position_recall", "convergence", "agreement")
"""Keys that files of version 3 do not hold"""


def check_results(record: Any, where: str = "results.json") -> None:
    """Raise `InputError` for the first key that is missing, unknown (with the nearest spelling) or of a wrong type.

    `where` opens the message: the file that the record was read from.
    """
    _check_keys(record, SCHEMA, where)
    if record["schema"] != SCHEMA_VERSION:
        raise InputError(f"{where}: schema {record['schema']}; this version of lookback reads {SCHEMA_VERSION}")
    _check_inside(record, SCHEMA, where)


def write_results(path: Path | str, record: Results) -> None:
    """Write a results.json, whole or not at all. Raises `InputError` for a record that `check_results` refuses."""
    check_results(record, str(path))
    write_json(path, record)


def read_results(path: Path | str) -> Results:
    """Read and check a results.json. Raises `InputError` with the file for anything else.

    Its texts are printed: control characters in them become visible. A file of version 1 to 7 is read as one of this
    version, with null for what it does not hold; its arm has the name of its attention.
    """
    try:
        record = parse_json(read_regular(path, _LARGEST).decode())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; expected a results.json") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    upgraded: Any = _visible(_upgraded(record))
    check_results(upgraded, str(path))
    found: Results = upgraded
    return found


def _upgraded(record: Any) -> Any:
    """A record of an earlier version with what has been added since; anything else as it is."""
    if not isinstance(record, dict) or record.get("schema") not in range(1, SCHEMA_VERSION):
        return record
    if record["schema"] == 1 and isinstance(record.get("cost"), dict):
        record = {**record, "training_data": dict.fromkeys(TRAINING_DATA), "cost": {**record["cost"], "waiting": None}}
    if record["schema"] < 3:
        record = _in_buckets(record, ("chrf", "ter"))
        record |= dict.fromkeys(("by_equal_count", "half_length_ci", "retention_ci", "attention_by_length"))
    if record["schema"] < 4:
        record = {**_in_buckets(record, ("omitted", "repeated")), **dict.fromkeys(NEW_IN_4)}
    if record["schema"] < 5:
        record = {**record, "arm": record.get("attention")}
    if record["schema"] < 7:
        if isinstance(record.get("cost"), dict):
            record = {**record, "cost": {"products": None, **record["cost"], "flops_per_token": None}}
        record = {**record, "aer_by_look": None}
    return {**_in_buckets(record, ("repeated_trigrams", "never_looked_at")), "schema": SCHEMA_VERSION}


def _visible(value: Any) -> Any:
    """A JSON value whose texts send nothing to a terminal, see ``visible``."""
    if isinstance(value, dict):
        return {visible(str(key)): _visible(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [_visible(inside) for inside in value]
    return visible(value) if isinstance(value, str) else value


def _in_buckets(record: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The record with null under these keys of each of its buckets; what is no list of buckets stays as it is."""
    found = {name: record.get(name) for name in ("by_length", "by_equal_count")}
    curves = {
        name: [{**bucket, **dict.fromkeys(keys)} for bucket in curve]
        for name, curve in found.items()
        if isinstance(curve, list) and all(isinstance(bucket, dict) for bucket in curve)
    }
    return {**record, **curves}


def _check_keys(record: Any, fields: Mapping[str, Field], where: str) -> None:
    """Check the keys of one record and the types of their values."""
    if not isinstance(record, dict):
        raise InputError(f"{where}: found {type(record).__name__}, expected an object with {', '.join(fields)}")
    names = list(fields)
    for key in record:
        if key not in fields:
            hint = nearest(key, names) or f"; expected one of {listed(names)}"
            raise InputError(f"{where}: unknown key {key!r}{hint}")
    for key, field in fields.items():
        if key not in record:
            raise InputError(f"{where}: no key {key!r} ({field.meaning})")
        value = record[key]
        if value is None and field.nullable:
            continue
        if isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
            raise InputError(f"{where}: {key}={value}, expected a number that is finite ({field.meaning})")
        allowed = (int, float) if field.kind is float else field.kind
        if not isinstance(value, allowed) or isinstance(value, bool):
            expected = field.kind.__name__ + (" or null" if field.nullable else "")
            raise InputError(f"{where}: {key}={value!r}, expected {expected} ({field.meaning})")


def _check_inside(record: Mapping[str, Any], fields: Mapping[str, Field], where: str) -> None:
    """Check the records inside a record whose own keys are right."""
    for key, field in fields.items():
        value = record[key]
        if field.records is None or value is None:
            continue
        inside = fields_of(field.records)
        found = {f"{key}[{index}]": each for index, each in enumerate(value)} if field.kind is list else {key: value}
        for name, each in found.items():
            _check_keys(each, inside, f"{where}: {name}")
            _check_inside(each, inside, f"{where}: {name}")
