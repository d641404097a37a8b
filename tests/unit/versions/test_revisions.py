"""What differs between revisions, as real git has it, and what `log` says of another target."""

from pathlib import Path

import pytest

from skillopt.errors import RepositoryError
from skillopt.tasks import File
from skillopt.versions.revisions import write_files
from tests.fakes.projects import make_project, skillopt
from tests.fakes.repositories import NEW_VERSION, commit


@pytest.mark.parametrize("path", ["../out", "/out", "a/../../out", "."])
def test_a_path_that_leads_out_is_never_written(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    with pytest.raises(RepositoryError, match="plain path"):
        write_files([File(path, b"x")], inside)
    assert not inside.exists()
    assert not (tmp_path / "out").exists()


CODEX = "codex 0.169.0 model=large mode=forced"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a version that says it was trained with Codex."""
    folder = make_project(tmp_path / "project")
    commit(folder, trailers=(*NEW_VERSION.trailers, ("Harness", CODEX)))
    return folder


def test_the_log_marks_a_version_stale_when_another_target_is_configured(project: Path) -> None:
    config = project / "skillopt.toml"
    other = 'harness = "chat/openai-compatible/fake"\nbase_url = "http://127.0.0.1:1/v1"\n'
    config.write_text(config.read_text(encoding="utf-8").replace('harness = "demo"\n', other), encoding="utf-8")
    said = "  stale: trained on codex 0.169.0 model=large, now chat openai-compatible model=fake"
    assert skillopt(project, "log", "rows").stdout.splitlines()[1].endswith(said)
