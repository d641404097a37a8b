from pathlib import Path

import pytest

from benchmarks.corpus_evals import main

FIXTURES = Path(__file__).parents[1] / "fakes" / "formats"


def test_task_files_of_a_corpus_are_counted_by_format_and_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(FIXTURES / name) for name in ("evals-json", "evals-json-list", "cases-jsonl", "triggers")]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "cases: 1 of 1 files read (100.0%): 1 tasks",
        "evals.json: 2 of 2 files read (100.0%): 2 tasks",
        "triggers: 1 of 1 files read (100.0%): 1 triggers",
        "2 skipped, 6 tasks, 6 triggers",
    ]


def test_a_file_that_cannot_be_read_is_counted_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evals.json").write_text("[]", encoding="utf-8")

    main([str(tmp_path)])

    assert "evals.json: 0 of 1 files read (0.0%): 1 refused" in capsys.readouterr().out
