import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SuiteError
from skillopt.rollouts import Score
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import load_verifier
from tests.contracts.verifier_contract import VerifierContract, make_spec, score_file

EXPECTED = b"id,name,amount\n1,ada,2.50\n2,bob,3.00\n3,cyd,4.00\n"


def spec(content: bytes = EXPECTED, **options: object) -> VerifierSpec:
    return make_spec("table", File("want.csv", content), **{"file": "output.csv", "expected": "want.csv", **options})


def score(found: bytes, expected: bytes = EXPECTED, **options: object) -> Score:
    return score_file(spec(expected, **options), "output.csv", found)


def written(rows: list[list[str]]) -> bytes:
    target = io.StringIO(newline="")
    csv.writer(target).writerows(rows)
    return target.getvalue().encode()


class TestTableVerifier(VerifierContract):
    kind = "table"
    right = EXPECTED
    wrong = b"id,name,amount\n1,ada,2.50\n2,bob,3.00\n3,cyd,4\n"
    path = "output.csv"

    def spec(self) -> VerifierSpec:
        return spec()


def test_columns_and_with_a_key_rows_keep_their_cells_in_another_order_but_columns_do_not_pass() -> None:
    result = score(b"name,id,amount\nada,1,2.50\nbob,2,3.00\ncyd,3,4.00\n")
    turned = b"id,name,amount\n3,cyd,4.00\n1,ada,2.50\n2,bob,3.00\n"

    assert result.value == pytest.approx(1 - 2 / 12)
    assert result.feedback.startswith("output.csv: expected columns")
    assert score(turned).value < 1
    assert score(turned, key="id") == Score(1.0, passed=True)


def test_missing_and_unexpected_rows_are_named() -> None:
    assert score(b"id,name,amount\n1,ada,2.50\n2,bob,3.00\n").feedback.splitlines() == [
        "output.csv: expected 3 rows, found 2",
        'output.csv row 3: missing row {"id": "3", "name": "cyd", "amount": "4.00"}',
    ]
    assert score(EXPECTED + b"Total,,9.50\n").feedback.splitlines() == [
        "output.csv: expected 3 rows, found 4",
        'output.csv row 4: unexpected row {"id": "Total", "name": "", "amount": "9.50"}',
    ]


def test_numbers_may_differ_by_the_tolerance_and_text_may_not() -> None:
    assert score(EXPECTED.replace(b"2.50", b"2.5"), absolute_tolerance=0.01).passed
    assert not score(EXPECTED.replace(b"2.50", b"2.6"), absolute_tolerance=0.01).passed
    assert score(EXPECTED.replace(b"4.00", b"4.1"), relative_tolerance=0.05).passed


@pytest.mark.parametrize(
    ("content", "options", "problem"),
    [
        (b"", {}, "expected a header, found nothing"),
        (b"a,b\n1\n", {}, "row 1: expected 2 cells, found 1"),
        (b"a\n1\n", {"key": "b"}, "expected columns of want.csv, found"),
        (b"a\n1\n", {"expected": "other.csv"}, "expected a file 'other.csv' among its files, found 'want.csv'"),
    ],
)
def test_a_reference_that_cannot_be_used_is_refused(content: bytes, options: dict[str, object], problem: str) -> None:
    with pytest.raises(SuiteError, match=re.escape(problem)):
        load_verifier(spec(content, **options))


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=8)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    width = draw(st.integers(1, 4))
    row = st.lists(cells, min_size=width, max_size=width)
    return [draw(st.lists(cells.filter(bool), min_size=width, max_size=width)), *draw(st.lists(row, max_size=5))]


@given(tables())
def test_a_table_passes_against_itself_however_it_is_quoted(rows: list[list[str]]) -> None:
    quoted = io.StringIO(newline="")
    csv.writer(quoted, quoting=csv.QUOTE_ALL).writerows(rows)

    assert score(quoted.getvalue().encode(), written(rows)) == Score(1.0, passed=True)
