"""The schema of results.json: one description, as types for the code and as tables for whoever checks a file."""

from typing import get_type_hints

import pytest

from lookback import runs
from lookback.runs import AER, SCHEMA, Results, schema
from lookback.runs.schema import Field, fields_of

RECORDS = ("Bucket", "Aer", "Links", "LookAer", "AttentionBucket", "Position", "Convergence", "Agreement")
RECORDS += ("Cost", "TrainingData")
TABLES = ("BUCKET", "AER", "LINKS", "LOOK_AER", "ATTENTION", "POSITION", "CONVERGENCE", "AGREEMENT")
TABLES += ("COST", "TRAINING_DATA")


@pytest.mark.parametrize(("record", "table"), [("Results", "SCHEMA"), *zip(RECORDS, TABLES, strict=True)])
def test_a_records_keys_are_the_tables(record: str, table: str) -> None:
    fields = getattr(schema, table)
    assert list(fields) == list(getattr(schema, record).__annotations__)
    assert all(isinstance(field.meaning, str) and field.meaning for field in fields.values())
    assert {field.kind for field in fields.values()} <= {int, float, str, list, dict}


def test_a_field_says_its_type_whether_it_may_be_null_and_what_is_inside() -> None:
    assert SCHEMA["seed"] == Field(int, True, "the run's one seed; null for another system", None)
    assert SCHEMA["bleu"][:2] == (float, True)
    assert SCHEMA["versions"] == (dict, False, "versions of Python and the libraries that matter", None)
    assert SCHEMA["by_length"][:2] + SCHEMA["by_length"][3:] == (list, False, schema.Bucket)
    assert SCHEMA["by_equal_count"][:2] + SCHEMA["by_equal_count"][3:] == (list, True, schema.Bucket)
    assert (SCHEMA["half_length_ci"].kind, SCHEMA["half_length_ci"].records) == (list, None)
    assert AER["shift_-1"][:2] + AER["shift_-1"][3:] == (dict, False, schema.Links)
    assert SCHEMA["cost"].records is schema.Cost


def test_every_record_inside_another_one_is_described() -> None:
    inside = [
        field.records for record in ("Results", *RECORDS) for field in fields_of(getattr(schema, record)).values()
    ]
    assert {record.__name__ for record in inside if record is not None} == set(RECORDS)


def test_what_a_reader_needs_is_exported() -> None:
    """README names lookback.runs.SCHEMA as the place where every field is described."""
    assert {"Results", *RECORDS, "SCHEMA", *TABLES} - set(runs.__all__) == {"LINKS"}
    assert get_type_hints(Results)["cost"] is schema.Cost
