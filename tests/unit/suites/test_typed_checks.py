import json

import pytest

from skillopt.errors import SuiteError
from skillopt.suites.checks import verifier_of
from skillopt.suites.formats.evals_json import read_typed_check
from tests.contracts.verifier_contract import score_answer


@pytest.mark.parametrize(
    ("entry", "right", "wrong"),
    [
        ({"type": "contains", "value": "a.b"}, "x A.B y", "axb"),
        ({"type": "contains", "value": "a.b", "case_sensitive": True}, "a.b", "A.B"),
        ({"type": "contains_pattern", "pattern": "a+b"}, "AAB", "b"),
        ({"type": "does-not-contain", "value": "sorry"}, "done", "Sorry, no"),
        ({"type": "content_includes_any", "value": ["a1", "b1"]}, "b1", "c1"),
        ({"type": "regex_match_any", "patterns": ["a1|a2", "b1"]}, "b1", "c1"),
        ({"type": "notContains", "text_value": "x"}, "y", "x"),
        ({"type": "equals", "value": 42}, "42", "43"),
        ({"kind": "keyword", "keywords": ["ship"]}, "shipped", "sent"),
    ],
)
def test_a_typed_check_passes_what_it_asks_for_and_fails_the_rest(
    entry: dict[str, object], right: str, wrong: str
) -> None:
    checks = read_typed_check(entry, "It is so")
    assert checks is not None
    spec = verifier_of(checks)

    assert score_answer(spec, right).passed
    assert not score_answer(spec, wrong).passed
    assert {check.name for check in checks} == {"It is so"}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            {"type": "xpath", "value": "//a"},
            "expected a type of check such as contains, regex or equals, found 'xpath'",
        ),
        ({"type": "contains"}, "expected a `value` for the check of type 'contains', found none"),
        ({"type": "file_exists"}, "expected a `path` for the check of a file, found none"),
    ],
)
def test_a_check_that_a_program_cannot_make_is_refused(entry: dict[str, object], problem: str) -> None:
    with pytest.raises(SuiteError, match=problem.replace("`", ".")):
        read_typed_check(entry, "It is so" if json.dumps(entry).count("value") else "")
