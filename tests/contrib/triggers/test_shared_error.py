"""All trainings of a description share one error: noted here, or read from the trailers of drafts and versions."""

from pathlib import Path

from skillopt.contrib.triggers.drafts import TRIGGER_ERROR, TRIGGER_TRAINING
from skillopt.contrib.triggers.looks import begin_look, end_look
from skillopt.contrib.triggers.queries import Query
from skillopt.contrib.triggers.run import request_digests, spent_by_trainings, unreported_error, why_exhausted
from skillopt.settings import Settings
from skillopt.versions.commit_message import Version

HELD_OUT = [Query(text, "pdf", "x:1") for text in ("one", "two", "three", "four")]


def looked(folder: Path, name: str, error: float, held_out: list[Query] = HELD_OUT, *, accepted: bool = False) -> int:
    number = begin_look(folder, "pdf", name, request_digests(held_out))
    end_look(folder, "pdf", name, error, accepted=accepted)
    return number


def described(training: str, error: str) -> Version:
    trailers = ((TRIGGER_TRAINING, training), (TRIGGER_ERROR, error))
    return Version("sha", "", "", "", "", trailers, "", "")


def test_a_training_gets_what_those_before_it_left(tmp_path: Path) -> None:
    assert [looked(tmp_path, "a", 0.04), looked(tmp_path, "b", 0.01), looked(tmp_path, "c", 0.02)] == [0, 1, 2]
    assert spent_by_trainings(tmp_path, "pdf", "c", (), HELD_OUT) == (0.04, 0.01)
    assert spent_by_trainings(tmp_path, "other", "c", (), HELD_OUT) == ()


def test_what_was_spent_on_other_requests_counts_by_the_share_of_todays(tmp_path: Path) -> None:
    looked(tmp_path, "a", 0.04, HELD_OUT[:1])
    assert spent_by_trainings(tmp_path, "pdf", "b", (), HELD_OUT) == (0.01,)


def test_descriptions_that_were_trained_elsewhere_count_by_their_trailers(tmp_path: Path) -> None:
    looked(tmp_path, "a", 0.0, accepted=True)
    versions = [described("a", "0.0300"), described("elsewhere", "0.0200"), described("by hand", "much")]
    assert spent_by_trainings(tmp_path, "pdf", "b", versions, HELD_OUT) == (0.02,)


def test_the_trailer_has_what_was_spent_since_the_description_before(tmp_path: Path) -> None:
    for name, error, accepted in (("a", 0.03, False), ("b", 0.0, True), ("c", 0.01, False), ("d", 0.02, False)):
        looked(tmp_path, name, error, accepted=accepted)
    assert unreported_error(tmp_path, "pdf", "b") == 0.03
    assert unreported_error(tmp_path, "pdf", "new") == 0.03


def test_half_a_line_of_a_killed_process_hides_no_other(tmp_path: Path) -> None:
    looked(tmp_path, "a", 0.04)
    with (tmp_path / ".skillopt" / "trigger-looks" / "pdf").open("a", encoding="utf-8") as file:
        file.write('{"id": "b", "requ')
    looked(tmp_path, "c", 0.01)
    assert spent_by_trainings(tmp_path, "pdf", "new", (), HELD_OUT) == (0.04, 0.01)


def test_requests_on_which_the_error_is_spent_are_named_before_anything_is_paid() -> None:
    assert why_exhausted(12, Settings(), [0.06]) == ""
    assert "ones spent 0.062 of the 0.0625" in (why_exhausted(12, Settings(), [0.0624]))
