import pytest

from skillopt.errors import SuiteError
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import VERIFIERS, last_code_block, load_verifier


def test_an_unknown_kind_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(SuiteError, match="found 'tabel'; did you mean 'table'"):
        load_verifier(VerifierSpec("tabel"))


@pytest.mark.parametrize("kind", VERIFIERS)
def test_every_kind_has_a_driver_that_validates_its_options(kind: str) -> None:
    with pytest.raises(SuiteError, match=f"verifier '{kind}'"):
        load_verifier(VerifierSpec(kind, '{"no_such_option": 1}'))


def test_a_file_option_cannot_lead_out_of_the_workspace() -> None:
    with pytest.raises(SuiteError, match=r"found '\.\./secret'"):
        load_verifier(VerifierSpec("exact", '{"value": "a", "file": "../secret"}'))


def test_the_last_code_block_of_an_answer_counts() -> None:
    assert last_code_block("First\n```json\n1\n```\nno:\n```\n2\n```\nDone") == "2\n"
