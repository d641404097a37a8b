from types import SimpleNamespace

import pytest

from skillopt.errors import SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import load_verifier
from tests.contracts.verifier_contract import VerifierContract, make_spec


class TestFileVerifier(VerifierContract):
    kind = "file"
    right = b"hello\n"
    wrong = b"hullo\n"

    def spec(self) -> VerifierSpec:
        return make_spec("file", path="output.txt", pattern="hello")


def score(spec: VerifierSpec, files: dict[str, bytes], changed: tuple[str, ...] = ()) -> Score:
    with Workspace.create(File(path, content) for path, content in files.items()) as workspace:
        return load_verifier(spec).score(Trajectory(files_changed=changed), workspace.path)


def test_a_file_that_is_there_passes_whatever_it_holds_and_however_large_it_is() -> None:
    spec = make_spec("file", path="out.bin")

    assert score(spec, {"out.bin": b"\xff" * 2_000_000}).passed
    assert score(spec, {"other": b""}).feedback == "out.bin: missing"


def test_a_file_can_be_forbidden() -> None:
    spec = make_spec("file", path="**/*.log", exists=False)

    assert score(spec, {"a.txt": b""}).passed
    assert "a/b/c.log: expected no such" in score(spec, {"a/b/c.log": b""}).feedback


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        *(("*.txt", {"a.txt"}), ("**/*.txt", {"a.txt", "x/b.txt", "x/y/c.txt"}), ("x/**", {"x/b.txt", "x/y/c.txt"})),
        *(("x/*/c.txt", {"x/y/c.txt"}), ("[ab].txt", {"a.txt"}), ("**/y/**/c.txt", {"x/y/c.txt"}), ("y.txt", set())),
    ],
)
def test_a_pattern_of_paths_fits_part_by_part(path: str, fits: set[str]) -> None:
    found = {
        name for name in ("a.txt", "x/b.txt", "x/y/c.txt") if score(make_spec("file", path=path), {name: b""}).passed
    }

    assert found == fits


def test_one_of_several_files_holding_the_text_is_enough_and_one_is_too_many() -> None:
    files = {"a.txt": b"done", "b.txt": b"SECRET"}

    assert score(make_spec("file", path="*.txt", pattern="sec+ret", ignore_case=True), files).passed
    assert 'a.txt: expected "secret", found' in score(make_spec("file", path="*.txt", pattern="secret"), files).feedback
    assert (
        'b.txt: expected no "SECRET"'
        in score(make_spec("file", path="*.txt", pattern="SECRET", absent=True), files).feedback
    )


@pytest.mark.parametrize("absent", [True, False])
def test_files_that_cannot_all_be_searched_in_time_are_not_taken_for_right(
    absent: bool,  # noqa: FBT001 - an option
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr("skillopt.verifiers.file.time", SimpleNamespace(monotonic=lambda: next(clock)))
    text = b"done" if absent else b""
    spec = make_spec("file", path="*.txt", pattern="done" if not absent else "SECRET", absent=absent)

    found = score(spec, {f"{number}.txt": text for number in range(5)})

    assert not found.passed
    assert "5 files took too long" in found.feedback


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"pattern": "a", "exists": False}, "with 'exists: false'"),
        ({"absent": True}, "expected 'pattern' with 'absent'"),
        ({"pattern": "("}, "expected a regular expression"),
        ({"path": "../a"}, "path: expected a relative path"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(SuiteError, match=problem):
        load_verifier(make_spec("file", **{"path": "a", **options}))
