import pytest

from skillopt.errors import SuiteError
from skillopt.sandbox.workspace import Workspace, find_files
from skillopt.tasks import File
from skillopt.verifiers.collected_files import CollectedFiles, executed_names, named_files, unpacking_commands

OWN = (File("check.py", b""), File("lib/x.py", b""))


def collected(*declared: str, anywhere: bool = False) -> CollectedFiles:
    return CollectedFiles.of(declared, OWN, ("reward.json",), anywhere=anywhere)


@pytest.mark.parametrize(
    ("declared", "path", "taken"),
    [
        *(("total.txt", "total.txt", True), ("total.txt", "total.txt/index.js", False), ("out/", "out/a/b.csv", True)),
        *(("out/*.csv", "out/a.csv", True), ("out/*.csv", "out/a/b.csv", False), ("out/**/*.csv", "out/a/b.csv", True)),
        *(("out/**", "out/.env", False), ("out/**", "out/-rf", False), ("out/**", "out/a\nb", False)),
        *((".git/**", ".git/refs/heads/main", True), (".git/**", ".git/config", False)),
        (".git/config", ".git/config", True),
    ],
)  # fmt: skip
def test_what_a_suite_declares_is_taken_and_nothing_else(declared: str, path: str, *, taken: bool) -> None:
    assert collected(declared).takes(path) is taken
    assert not collected(declared).takes("csv.py")


@pytest.mark.parametrize("pattern", ["**", "*.csv", "lib/**", "lib/*.json"])
def test_a_pattern_beside_the_verifier_s_files_is_refused_unless_the_agent_s_code_is_run(pattern: str) -> None:
    with pytest.raises(SuiteError, match="collect: expected names"):
        collected(pattern)
    assert not collected(pattern, anywhere=True).takes("lib/conftest.json")


def test_code_that_is_run_comes_with_all_but_hidden_files_rewards_and_what_lies_in_folders_of_tests() -> None:
    found = collected("**", anywhere=True)

    paths = ["a.py", "src/b.py", "conftest.py", "reward.json", "lib/y.py", ".env"]
    assert [path for path in paths if found.takes(path)] == paths[:3]


def test_only_named_files_and_the_folders_of_patterns_are_looked_into() -> None:
    files = [File(f"d/f{number}", b"") for number in range(50)]
    files += [File(path, b"") for path in ("out/a.csv", "out/b/c.csv", "out/b/d/e.csv", "total.txt")]
    looked: list[str] = []
    chosen = collected("total.txt", "out/*/*.csv")

    def wanted(path: str) -> bool:
        looked.append(path)
        return chosen.takes(path)

    with Workspace.create(files) as workspace:
        found = find_files(workspace.path, chosen.starts, wanted, 9)

    assert isinstance(found, list)
    assert set(found) == {"out/", "out/b/", "out/b/c.csv", "total.txt"}
    assert sorted(looked) == ["out/a.csv", "out/b/", "out/b/c.csv", "out/b/d/"]


@pytest.mark.parametrize(
    ("argv", "text", "names"),
    [
        (["python", "check.py"], "open('total.txt'), Path(\"out/a.csv\"), json.load", ("total.txt", "out/a.csv")),
        (["sh", "-c", "cmp total.txt expected.txt"], "", ("total.txt", "expected.txt")),
        (["python", "check.py"], "import csv\nopen('../secret.txt'); open('/etc/x.conf'); 'check.py'", ()),
    ],
)
def test_an_undeclared_check_gets_the_files_that_it_names(argv: list[str], text: str, names: tuple[str, ...]) -> None:
    assert named_files(argv, [File("check.py", text.encode())]) == names


@pytest.mark.parametrize(
    ("text", "path"),
    [
        *(("from answer import total", "answer.py"), ("if x:\n  import src.answer", "src/**")),
        *(("x = require('./lib.json')", "lib.json"), ("if [ -f env.sh ]; then . ./env.sh; fi", "env.sh")),
        *(("-include local.mk", "local.mk"), ("pickle.load(open(sys.argv[1]))", "model.pkl")),
        *(("subprocess.run([sys.executable, 'answer.py'])", "answer.py"), ("os.system('./solve.bin')", "solve.bin")),
        *(("ruff check src", "src/"), ("sqlite3 a.db < out.sql", "out.sql"), ("sys.path.insert(0, 'src')", "src/**")),
        ("bash solve.sh | diff - expected.txt", "solve.sh"),
    ],
)
def test_what_a_check_executes_of_the_agent_s_is_told(text: str, path: str) -> None:
    assert executed_names([path], ["run", "check"], [File("check", text.encode())]) == (path,)
    for read in ("import json; json.load(open('total.json'))", "run(['diff', 'total.json', 'x'])", "cmp total.json x"):
        assert executed_names(["total.json"], ["python", "check.py"], [File("check.py", read.encode())]) == ()


@pytest.mark.parametrize(
    ("text", "command"),
    [
        *(("cd out && tar -xzf r.tgz", "tar"), ("unzip -q r.zip", "unzip"), ("git  clone r.bundle got", "git clone")),
        *(("git apply r.patch", "git apply"), ("git am <r.mbox", "git am"), ("run(['git', 'am', name])", "git am")),
        *(("shutil.unpack_archive(name)", "unpack_archive"), ("archive.extractall(place)", "extractall")),
        *(("run(['tar', 'xf', name])", "tar"), ("patch -p1 <r.patch", "patch")),
    ],
)
def test_a_command_that_unpacks_or_applies_what_the_agent_left_is_named(text: str, command: str) -> None:
    assert unpacking_commands(["sh", "check"], [File("check", text.encode())]) == (command,)
    assert unpacking_commands(["sh", "-c", text], []) == (command,)
    for plain in ("git log --format=%s", "cmp r.tar expected.tar", "open('tar.txt')", "target = patched"):
        assert unpacking_commands(["sh", "-c", plain], []) == ()
