"""The checker finds each broken rule, and only that."""

from pathlib import Path

import pytest

from tools.check_house_rules import Module, check_lines, check_module, check_names, count_lines, read_modules

CLEAN = '''"""A module."""

from typing import TypeVar

LIMIT = 3
T = TypeVar("T")
_PRIVATE = 1


class Thing:
    """A thing."""


def count() -> int:
    """Count."""
    return 1  # noqa: RUF100 - a reason of some length
'''


def findings(source: str, path: str = "skillopt/things.py") -> list[str]:
    return [str(finding) for finding in check_module(Module(Path(path), source))]


def test_a_clean_module_has_no_findings() -> None:
    assert findings(CLEAN) == []


def test_a_module_of_600_lines_passes_and_one_of_601_does_not() -> None:
    start = "x = 1\n"

    assert findings(start + "\n" * 399) == []
    assert findings(start + "\n" * 600) == [
        "skillopt/things.py:601: expected at most 600 lines, found 601: split it by idea"
    ]


@pytest.mark.parametrize(
    "path", ["skillopt/utils.py", "skillopt/csv_helpers.py", "tests/base/test_x.py", "tools/manager.py"]
)
def test_a_vague_name_is_refused(path: str) -> None:
    assert ["expected a name" in finding for finding in findings("x = 1\n", path)] == [True]


def names(root: Path, **modules: str) -> list[str]:
    for name, source in modules.items():
        (root / "skillopt").mkdir(exist_ok=True)
        (root / "skillopt" / f"{name}.py").write_text(source, encoding="utf-8")
    return [str(finding) for finding in check_names(read_modules(root, "skillopt"))]


def test_a_public_name_of_two_modules_is_refused(tmp_path: Path) -> None:
    both = "_x = 1\nclass Thing: ...\n"

    (found,) = names(tmp_path, one=both, two=both)

    assert found.startswith("skillopt/two.py:2: expected a public")
    assert found.endswith("skillopt/one.py defines too")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("benchmarks/speed.py", "from tests.fakes.fake_forge import FakeForge\n"),
        ("benchmarks/speed.py", "def run():\n    import tests\n"),
        ("tests/test_things.py", "import benchmarks.verdicts\n"),
        ("tests/agents/things.py", "from benchmarks import seeds\n"),
    ],
)
def test_tests_and_benchmarks_do_not_import_each_other(path: str, source: str) -> None:
    (found,) = findings(source, path)

    assert "both need to tools/" in found


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: E501",
        "# noqa - a reason without a code",
        "# type: ignore",
        "# type: ignore[misc]",
        "# type: ignore  # a reason without a code",
        "# pragma: no cover",
        "# TODO later",
        "# FIXME",
    ],
)
def test_a_mark_without_its_code_or_reason_is_refused(comment: str) -> None:
    assert len(findings(f"x = 1  {comment}\n")) == 1


def test_a_call_of_the_product_names_its_arguments_from_the_sixth_on() -> None:
    assert findings("f(1, 2, 3, 4, 5, six=6)\n") == []
    assert "most 5 positional arguments, found 6" in findings("f(1, 2, 3, 4, 5, 6)\n")[0]
    assert findings("f(1, 2, 3, 4, 5, 6)\n", "tests/test_things.py") == []


BROAD = "x = 1\ntry:\n    pass\nexcept {caught}:{comment}\n    {body}\n"


@pytest.mark.parametrize("caught", ["Exception", "BaseException", "(ValueError, Exception)"])
def test_a_broad_except_is_refused_outside_the_front_end(caught: str) -> None:
    source = BROAD.format(caught=caught, comment="", body="pass")

    assert "expected a narrow `except`" in findings(source)[0]
    assert findings(source, "skillopt/commands/entry.py") == []


def test_lines_of_the_core_and_of_contrib_are_counted_apart_and_each_has_a_limit() -> None:
    sources = {"skillopt/a.py": 2, "mcp_server/b.py": 1, "skillopt/contrib/c/d.py": 4, "tests/e.py": 8}

    assert count_lines(Module(Path(path), "\n" * lines) for path, lines in sources.items()) == {"core": 3, "contrib": 4}
    assert check_lines({"core": 3, "contrib": 4}) == []
    (found,) = check_lines({"core": 3, "contrib": 1_000_000})
    assert (found.path, "1,000,000" in found.message) == ("contrib", True)
