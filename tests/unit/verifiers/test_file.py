from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        return make_spec("file", path="output.txt", contains="hello")


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
    assert score(spec, {"a/b/c.log": b""}).feedback == "a/b/c.log: expected no such file, found one"


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        ("*.txt", {"a.txt"}),
        ("**/*.txt", {"a.txt", "x/b.txt", "x/y/c.txt"}),
        ("x/**", {"x/b.txt", "x/y/c.txt"}),
        ("x/*/c.txt", {"x/y/c.txt"}),
        ("[ab].txt", {"a.txt"}),
        ("**/y/**/c.txt", {"x/y/c.txt"}),
        ("y.txt", set()),
    ],
)
def test_a_pattern_of_paths_fits_part_by_part(path: str, fits: set[str]) -> None:
    found = {
        name for name in ("a.txt", "x/b.txt", "x/y/c.txt") if score(make_spec("file", path=path), {name: b""}).passed
    }

    assert found == fits


@given(st.lists(st.sampled_from(["a", "b.c"]), min_size=1, max_size=4))
def test_a_path_fits_itself_and_any_folders(parts: list[str]) -> None:
    path = "/".join(parts)

    assert all(score(make_spec("file", path=each), {path: b""}).passed for each in (path, f"**/{parts[-1]}", "**"))


def test_one_of_several_files_holding_the_text_is_enough_and_one_is_too_many() -> None:
    files = {"a.txt": b"done", "b.txt": b"SECRET"}

    assert score(make_spec("file", path="*.txt", pattern="sec+ret", ignore_case=True), files).passed
    assert score(make_spec("file", path="*.txt", contains="secret"), files).feedback == (
        'a.txt: expected "secret", found none'
    )
    assert score(make_spec("file", path="*.txt", contains="SECRET", absent=True), files).feedback == (
        'b.txt: expected no "SECRET", found it'
    )


def test_the_last_of_many_files_is_searched_too() -> None:
    files = {f"{number:02}.txt": b"done" for number in range(60)} | {"99.txt": b"SECRET"}

    assert score(make_spec("file", path="*.txt", contains="SECRET", absent=True), files).feedback == (
        '99.txt: expected no "SECRET", found it'
    )
    assert score(make_spec("file", path="*.txt", contains="SECRET"), files).passed
    assert score(make_spec("file", path="*.txt", contains="secret", absent=True), files).passed


@pytest.mark.parametrize("absent", [True, False])
def test_files_that_cannot_all_be_searched_in_time_are_not_taken_for_right(
    absent: bool,  # noqa: FBT001 - an option
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr("skillopt.verifiers.file.time", SimpleNamespace(monotonic=lambda: next(clock)))
    text = b"done" if absent else b""
    spec = make_spec("file", path="*.txt", contains="done" if not absent else "SECRET", absent=absent)

    found = score(spec, {f"{number}.txt": text for number in range(5)})

    assert (found.passed, found.feedback) == (False, "the search of 5 files took too long, after 3 of them")


def test_where_no_file_fits_a_pattern_none_holds_the_text() -> None:
    assert score(make_spec("file", path="**", contains="SECRET", absent=True), {}).passed
    assert not score(make_spec("file", path="a.txt", contains="SECRET", absent=True), {}).passed


def test_files_that_lay_there_before_do_not_count_as_written() -> None:
    spec = make_spec("file", path="*.txt", written=True)

    assert not score(spec, {"a.txt": b""}).passed
    assert score(spec, {"a.txt": b"", "b.txt": b""}, changed=("b.txt",)).passed


def test_a_linked_folder_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("x", encoding="utf-8")
    with Workspace.create() as workspace:
        Path(workspace.path, "linked").symlink_to(tmp_path)

        assert not load_verifier(make_spec("file", path="linked/out.txt")).score(Trajectory(), workspace.path).passed


def test_a_search_without_end_is_ended() -> None:
    spec = make_spec("file", path="a", pattern="(a+)+$", time_limit=0.3)

    assert score(spec, {"a": b"a" * 60 + b"b"}).feedback == 'a: the search for "(a+)+$" took more than 0.3 s'


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"contains": "a", "pattern": "a"}, "expected one of the options 'contains' and 'pattern'"),
        ({"contains": "a", "exists": False}, "with 'exists: false'"),
        ({"absent": True}, "expected 'contains' or 'pattern' with 'absent'"),
        ({"pattern": "("}, "expected a regular expression"),
        ({"path": "../a"}, "path: expected a relative path"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(SuiteError, match=problem):
        load_verifier(make_spec("file", **{"path": "a", **options}))
