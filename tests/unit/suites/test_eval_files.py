"""Files of evals whose paths are relative to the repository's root."""

import json
from pathlib import Path

import pytest

from skillopt.suites import read_tasks

RUBRIC = {"expectations": ["It is done."]}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../secret", "expected a relative path"),
        ("link", "expected a file inside "),
        ("out/secret", "expected a file inside "),
        (".git/HEAD", "expected a file for agents, found '.git/HEAD'"),
        ("config/.env", "expected a file for agents, found 'config/.env'"),
    ],
)
def test_no_file_outside_of_the_repository_or_of_its_tools_is_read(tmp_path: Path, name: str, reason: str) -> None:
    evals = {"evals": [{"prompt": "a", "files": [name], **RUBRIC}, {"prompt": "b", **RUBRIC}]}
    repository = _write(
        tmp_path / "repository",
        {".git/HEAD": "a", "config/.env": "KEY=a", "skills/orders/evals/evals.json": json.dumps(evals)},
    )
    _write(tmp_path, {"secret": "outside"})
    (repository / "link").symlink_to(tmp_path / "secret")
    (repository / "out").symlink_to(tmp_path)

    (skipped,) = read_tasks(repository / "skills" / "orders").skipped

    assert skipped.reason.startswith(reason)


def _write(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder
