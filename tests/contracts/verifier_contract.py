"""What every verifier must do, whatever it verifies."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.errors import SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import VERIFIERS, load_verifier

HOSTILE = {
    "empty": b"",
    "binary": bytes(range(256)) * 20,
    "not UTF-8": b"\xff\xfe\x00",
    "nested JSON": b"[" * 50_000,
    "open quote": b'a,b\n"' + b"x" * 200_000,
    "digits": b"9" * 200_000,
    "commas": b"," * 200_000,
    "broken archive": b"PK\x03\x04" + b"\0" * 100,
    "long line": b"a" * 900_000,
    "huge": b"0" * 30_000_000,
}


def make_spec(kind: str, *files: File, **options: object) -> VerifierSpec:
    return VerifierSpec(kind, json.dumps(options), files)


def score_file(spec: VerifierSpec, path: str, content: bytes) -> Score:
    with Workspace.create([File(path, content)]) as workspace:
        return load_verifier(spec).score(Trajectory(), workspace.path)


def score_answer(spec: VerifierSpec, answer: str) -> Score:
    with Workspace.create() as workspace:
        return load_verifier(spec).score(Trajectory(answer=answer), workspace.path)


class VerifierContract(ABC):
    """Inherited by the test of each kind, which gives one spec and one right and one wrong result."""

    kind: str
    right: bytes
    wrong: bytes
    path = "output.txt"

    @abstractmethod
    def spec(self) -> VerifierSpec:
        """Make a spec that judges the workspace file `path`."""

    @pytest.fixture
    def workspace(self) -> Iterator[Path]:
        with Workspace.create() as made:
            yield Path(made.path)

    def test_is_listed_under_its_kind(self) -> None:
        assert self.spec().kind == self.kind
        assert self.kind in VERIFIERS

    def test_a_right_result_passes_with_full_score_and_no_feedback(self) -> None:
        assert score_file(self.spec(), self.path, self.right) == Score(1.0, passed=True)

    def test_a_wrong_result_fails_with_feedback(self) -> None:
        score = score_file(self.spec(), self.path, self.wrong)

        assert not score.passed
        assert score.value < 1
        assert score.feedback

    def test_scoring_twice_gives_the_same_score(self) -> None:
        assert score_file(self.spec(), self.path, self.wrong) == score_file(self.spec(), self.path, self.wrong)

    def test_a_missing_file_scores_0_and_feedback_says_so(self, workspace: Path) -> None:
        score = load_verifier(self.spec()).score(Trajectory(), str(workspace))

        assert (score.value, score.passed) == (0.0, False)
        assert "missing" in score.feedback

    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_hostile_file_fails_with_short_feedback(self, name: str) -> None:
        score = score_file(self.spec(), self.path, HOSTILE[name])

        assert not score.passed
        assert 0 < len(score.feedback) < 10_000

    def test_a_link_out_of_the_workspace_is_not_read(self, workspace: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.write_bytes(self.right)
        (workspace / self.path).symlink_to(outside)

        score = load_verifier(self.spec()).score(Trajectory(), str(workspace))

        assert (score.value, score.passed) == (0.0, False)

    def test_a_pipe_in_place_of_the_file_scores_0_without_waiting(self, workspace: Path) -> None:
        os.mkfifo(workspace / self.path)

        assert not load_verifier(self.spec()).score(Trajectory(), str(workspace)).passed

    def test_the_workspace_stays_as_it_was(self, workspace: Path) -> None:
        (workspace / self.path).write_bytes(self.right)
        load_verifier(self.spec()).score(Trajectory(), str(workspace))

        assert {path.name: path.read_bytes() for path in workspace.iterdir()} == {self.path: self.right}

    def test_an_unknown_option_is_refused_with_the_nearest_known_one(self) -> None:
        spec = self.spec()
        options = json.loads(spec.options)
        name = next(iter(options))
        misspelt = json.dumps({**options, f"{name}s": 1})

        with pytest.raises(SuiteError, match=f"unknown option '{name}s'; did"):
            load_verifier(VerifierSpec(spec.kind, misspelt, spec.files))
