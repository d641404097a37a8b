import pytest

from skillopt.tasks import File
from skillopt.verifiers.collected_files import CollectedFiles

OWN = (File("check.py", b"import helper\nfrom lib.x import y"), File("lib/x.py", b""), File("expected.csv", b""))
ARGV = ("python", "check.py")


def collected(
    *patterns: str, own: tuple[File, ...] = OWN, argv: tuple[str, ...] = ARGV, inputs: tuple[File, ...] = ()
) -> CollectedFiles:
    return CollectedFiles.of(patterns or None, own, argv, ("reward.json",), inputs)


@pytest.mark.parametrize(
    "path",
    [
        *("conftest.py", "sub/conftest.py", "pytest.ini", "PyProject.toml", "Makefile", "GNUmakefile", "rules.mk"),
        *(".git/config", ".gitattributes", ".env", ".npmrc", "node_modules/fs/index.js", "package.json", "x.pth"),
        *("__pycache__/check.cpython-311.pyc", "sitecustomize.py", "sitecustomize/__init__.py", "reward.json"),
        *("json.py", "csv/__init__.py", "csv.so", "pytest.py", "helper.py", "helper/__init__.py", "check/__main__.py"),
        *("lib/__init__.py", "lib/json.py", "lib/index.js", "reward.json/x"),
    ],
)
def test_what_could_steer_the_check_is_not(path: str) -> None:
    assert not collected().takes(path)
    assert not collected("**").takes(path)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("import a.b as c, answer as d", "answer.py"),
        ("if True: from answer import x", "answer/__init__.py"),
        ("importlib.import_module('answer')", "answer.py"),
        ("const x = require('./answer')", "answer.js"),
        ("import x from './answer.mjs'", "answer.mjs"),
        (". ./answer.sh", "answer.sh"),
        ("true; source answer.sh", "answer.sh"),
    ],
)
@pytest.mark.parametrize("inline", [False, True])
def test_what_the_check_loads_is_known_by_its_text(text: str, path: str, *, inline: bool) -> None:
    own = () if inline else (File("check.sh", text.encode()),)

    assert not collected(own=own, argv=("run", text) if inline else ("run",)).takes(path)
    assert collected(own=(), argv=("run",)).takes(path)


@pytest.mark.parametrize(
    "path",
    [
        *("ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", ".flake8", ".pylintrc", "biome.json", ".eslintignore"),
        *(".prettierrc.json", ".yamllint", "bunfig.toml", "deno.json", "Cargo.toml", "build.rs", "go.mod", "go.work"),
        *("CMakeLists.txt", "Gemfile", "build.gradle", "pom.xml", "phpunit.xml", "composer.json", "Taskfile.yml"),
        *("BUILD.bazel", ".rspec", ".perltidyrc", ".sqlfluff", "answer.pyi", "globals.d.ts", "Package.swift"),
        *("phpcs.xml.dist", "sub/pom.xml", "meson_options.txt", "junit-platform.properties", "Directory.Build.props"),
        *(".config/x.json", "prettier.config.mjs", "requirements.txt", "BUILD", "configure", "new-tool.kdl"),
    ],
)
def test_what_tools_look_for_is_not_given_to_the_check_whichever_tool_it_is(path: str) -> None:
    assert not collected().takes(path)
    assert collected(path).takes(path)


@pytest.mark.parametrize(
    "path",
    [
        *("tests.json", "config.json", "out/table.TSV", "notes.txt", "page.html", "plan.yaml", "a.xlsx", "chart.svg"),
        *("data.sqlite", "rows.parquet", "x.csv.gz", "solution.py", "src/lib.rs", "Main.java", "query.sql"),
    ],
)
def test_data_documents_and_source_code_are_given_to_a_check_that_loads_none_of_them(path: str) -> None:
    assert collected().takes(path)
