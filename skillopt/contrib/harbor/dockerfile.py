"""Read a Dockerfile as what the sandbox can give: files, packages, variables; or the lines that need a container."""

import re
import shlex
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, takewhile
from pathlib import Path
from posixpath import basename, join, normpath
from typing import Final

from skillopt.errors import SuiteError
from skillopt.suites.foreign_files import Folder
from skillopt.suites.reading import check_inputs
from skillopt.tasks import File

_PYTHONS: Final = {"24.04": "3.12", "24-04": "3.12", "22.04": "3.10", "22-04": "3.10", "bookworm": "3.11"}
_BASE: Final = re.compile(r"(?:.*/)?(python|ubuntu|debian|t-bench/[\w-]+)(?:[-:@].*)?", re.IGNORECASE)
_IGNORED: Final = frozenset(
    {"CMD", "ENTRYPOINT", "LABEL", "EXPOSE", "SHELL", "MAINTAINER", "VOLUME", "STOPSIGNAL", "HEALTHCHECK", "USER"}
)
_SYSTEM: Final = ("usr", "bin", "sbin", "lib", "lib64", "etc", "proc", "sys", "dev", "boot")
_FOLDERS: Final = frozenset({"/", "/root", "/tmp", "/home", "/opt", "/srv", "/mnt"})  # noqa: S108 - the image's own
_OF_AGENTS: Final = re.compile(
    r"/\.[\w-]+/skills?(?:/|$)|/\.(?:claude|codex|opencode|goose|factory|agents|gemini|cursor)(?:/|$)"
)
_FETCHES: Final = re.compile(
    r"\b(?:curl|wget|npm|npx|yarn|cargo|rustup|gem|conda|mvn|gradle|playwright|nltk|cpan|huggingface-cli|snapshot_download"
    r"|git (?:clone|submodule|lfs)|go (?:get|install|mod)|add-apt-repository|apt-key|apk|yum|dnf|Rscript|R -e|lake|make"
    r"|uv (?:sync|tool|venv|python|init|add|run)|download|systemctl|service|docker)\b"
)
_FILE_TOOLS: Final = frozenset({"mkdir", "chmod", "touch", "cp", "mv", "rm", "ln", "tar", "unzip", "gzip", "gunzip"})
_FOR_NOTHING: Final = re.compile(
    r"(?:true|:|set|export|id|chown|locale-gen|ldconfig|(?:user|group)add|add(?:user|group)|python[\d.]* -m venv) .*"
    r"|\S+ (?:--version|-version|-V)(?: .*)?|.*/var/lib/apt.*|echo source.*|ln (?:.* )?(?:/usr/|python)\S* /usr/\S*"
)
"""Commands that ask, clean up, or make what the sandbox has or does not need."""

_PLAIN: Final = re.compile(r"[\w./*?+=:@%,{}~\[\]-]+")
_PIP: Final = re.compile(r"(?:\S*/)?(?:uv )?(?:python[\d.]* -m )?pip[\d.]*")
_PIP_ELSEWHERE: Final = re.compile(
    r"-[eifct]|--(?:editable|(?:extra-)?index-url|find-links|constraint|target|prefix|root)\b.*"
)
_PIP_COUNTED: Final = frozenset({"--retries", "--timeout", "--default-timeout", "--progress-bar"})  # a value follows
_SEEDS: Final = frozenset({"pip", "setuptools", "wheel"})
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?(?:\s*(?:[<>=!~]=?|===)\s*[\w.*+!,<>=~ -]+)?")
_UVX: Final = re.compile(r"\buvx\b|\buv\s+(?:run|add|tool)\b")
_UV_SCRIPT: Final = re.compile(r"curl [^|&;]*astral\.sh/uv[^|&;]*\|[^|&;]*")
_UV_IMAGE: Final = re.compile(r"--from[ =]ghcr\.io/astral-sh/uv\S* /uv ")
_JOINS: Final = re.compile(r"[&|;]+")
_DEBIAN: Final = tomllib.loads(Path(__file__).with_name("system_packages.toml").read_text(encoding="utf-8"))
_NO_PART: Final = frozenset(_DEBIAN["no_part"].split())


@dataclass(slots=True)
class Image:
    """What a Dockerfile asks for.

    `needs` are lines for which the sandbox is no stand-in, `hidden` files that agents find skills in.
    """

    workdir: str = "/"
    files: dict[str, File] = field(default_factory=dict)
    hidden: dict[str, File] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    packages: list[str] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    missed_at: int = 0
    base: str = ""
    python: str = ""
    needs: list[str] = field(default_factory=list)


def read_dockerfile(folder: Folder) -> Image:
    """Read `environment/Dockerfile` of a task."""
    image = Image()
    for line, word, rest, body in _steps(folder.text("environment/Dockerfile")):
        where = f"environment/Dockerfile:{line}: {f'{word} {rest}'!r:.80}"
        try:
            problem = _take(image, word, rest, body, folder)
        except ValueError as error:
            problem = str(error)
        except SuiteError as error:
            raise SuiteError(f"{where}: {error}") from error
        if problem:
            image.needs.append(f"{where}: {problem}")
        if image.missing and not image.missed_at:
            image.missed_at = line
    return image


def _take(image: Image, word: str, rest: str, body: str, folder: Folder) -> str:
    """Take one instruction; say why it needs a container, else nothing."""
    match word:
        case "FROM":
            return _base(image, rest)
        case "WORKDIR":
            image.workdir = normpath(join(image.workdir, _expanded(rest.strip("\"' "), image)))
        case "ENV" | "ARG":
            image.variables.update(_variables(rest, image) if word == "ENV" or "=" in rest else {})
        case "COPY" | "ADD":
            return _copy(image, rest, folder) if not body else "it writes a file of its own"
        case "RUN":
            return _run(image, rest, body, folder)
        case _:
            return "" if word in _IGNORED else "it is no instruction that the sandbox knows"
    return ""


def _base(image: Image, rest: str) -> str:
    name = next((each for each in rest.split() if not each.startswith("--")), "")
    if image.base:
        return "it has several stages"
    image.base = name
    if not _BASE.fullmatch(name):
        return "the image is none of python, ubuntu and debian"
    given = re.search(r"python:(\d+\.\d+)", name)
    image.python = given[1] if given else next((each for tag, each in _PYTHONS.items() if tag in name), "")
    return ""


def _expanded(text: str, image: Image) -> str:
    """Fill in variables that were set before, other than PATH, which a program has anyway."""
    known = {"HOME": "/root", **image.variables}
    return re.sub(r"\$\{?(\w+)\}?", lambda one: one[0] if one[1] == "PATH" else known.get(one[1], ""), text)


def _variables(rest: str, image: Image) -> dict[str, str]:
    words = shlex.split(rest)
    if words and "=" not in words[0]:
        words = [f"{words[0]}={rest.split(maxsplit=1)[1] if len(words) > 1 else ''}"]
    pairs = (word.partition("=") for word in words)
    return {name: _expanded(value, image) for name, _, value in pairs if name}


def _copy(image: Image, rest: str, folder: Folder) -> str:
    if re.search(r"--from[ =]", rest):
        return "" if _UV_IMAGE.search(rest) else "it copies from another image"
    words = rest.strip("[] ").replace('",', '"') if rest.startswith("[") else rest
    *names, to = [_expanded(word, image) for word in shlex.split(words) if not word.startswith("--")]
    place = normpath(join(image.workdir, to))
    system = place.strip("/").partition("/")[0]
    if system in _SYSTEM:
        return "" if _OF_AGENTS.search(f"{place}/") else f"it writes to /{system}"
    several = to.endswith(("/", ".")) or len(names) > 1 or _is_folder(place, image)
    for name in names:
        if ".." in name.split("/"):
            return "it leads out of environment/"
        for source in _matching(folder, name):
            inside = (several or "*" in name) and folder.place(source).is_file()
            _take_files(image, folder, source, join(place, basename(source)) if inside else place)
    return ""


def _take_files(image: Image, folder: Folder, source: str, place: str) -> None:
    of_agents = bool(_OF_AGENTS.search(f"{place}/"))
    kept = image.hidden if of_agents else image.files
    for file in folder.files(source, place.strip("/")):
        if basename(file.path) != "Dockerfile":
            check_inputs([] if of_agents else [file])
            kept[file.path] = file


def _is_folder(place: str, image: Image) -> bool:
    made = any(place in line.split() and " mkdir " in line for line in image.setup)
    holds = any(f"/{path}".startswith(f"{place}/") for path in image.files)
    return made or holds or place in (*_FOLDERS, image.workdir)


def _matching(folder: Folder, name: str) -> list[str]:
    plain = normpath(f"environment/{name.lstrip('/')}")
    if not re.search(r"[*?\[]", plain):
        return [plain]
    found = [path.relative_to(folder.base).as_posix() for path in folder.glob(plain)]
    if not found and "[" not in plain:  # `skill[s]` is how one writes that there may be none
        raise SuiteError(f"expected files {name!r}, found none; add them")
    return found


def _run(image: Image, rest: str, body: str, folder: Folder) -> str:
    rest = _UV_SCRIPT.sub("true", rest)
    whole = f"{rest}\n{body}".strip()
    is_script = body or re.search(r"\b(?:if|for|while|case)\b|\$\(|`|^\[", rest)
    commands = [["a script"]] if is_script else _commands(rest)
    others = [" ".join(words) for words in commands if not _command(image, words, folder)]
    if not others or _OF_AGENTS.search(whole):
        return ""
    if _FETCHES.search(whole) or re.search(r"\b(?:apt|apt-get|pip3?) ", " ".join(others)):
        return f"{others[0]!r:.60} fetches or builds what is not here"
    image.setup.append(f"cd {image.workdir}; {whole}")
    return ""


def _command(image: Image, words: Sequence[str], folder: Folder) -> bool:
    """Take a command of a RUN; tell whether it was one that is known."""
    line, name = " ".join(words), basename(words[0])
    if name in ("apt-get", "apt"):
        if "install" in words:
            asked = (word for word in words[words.index("install") + 1 :] if not word.startswith("-"))
            for kept, names in zip((image.found, image.packages, image.missing), _find_packages(asked), strict=True):
                kept.extend(names)
        return True
    if (pip := _PIP.match(line)) and line[pip.end() :].split()[:1] == ["install"]:
        wanted = python_packages(words[words.index("install") + 1 :], folder)
        image.packages += wanted or []
        return wanted is not None
    needless = _FOR_NOTHING.fullmatch(f"{name} {line.partition(' ')[2]}") or _OF_AGENTS.search(f"{words[-1]}/")
    return needless is not None or _file_tool(image, name, words)


def _find_packages(names: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """Sort packages of Debian: what is on this machine, what pip can give, and what is missing."""
    found, python, missing = list[str](), list[str](), list[str]()
    for name in (re.split(r"[=:/]", each)[0] for each in names):
        if name in _NO_PART or name in _installed() or shutil.which(_DEBIAN["programs"].get(name, name)):
            found.append(name)
        elif name.startswith("python3-"):
            plain = name.removeprefix("python3-")
            python.append(_DEBIAN["python"].get(plain, plain))
        elif not re.fullmatch(r"python3?(\.\d+)?(-\w+)?", name):
            missing.append(name)
    return found, python, missing


@lru_cache(maxsize=1)
def _installed() -> frozenset[str]:
    try:
        text = Path("/var/lib/dpkg/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    return frozenset(re.findall(r"^Package: (\S+)\nStatus: install ok installed$", text, re.MULTILINE))


def _file_tool(image: Image, name: str, words: Sequence[str]) -> bool:
    """Take a command on files for what makes the environment ready, unless it is about files of the system."""
    if name not in _FILE_TOOLS or not all(_PLAIN.fullmatch(word) for word in words):
        return False
    if any(f"{word}/".startswith(f"/{system}/") for word in words for system in _SYSTEM):
        return name in ("rm", "chmod")
    image.setup.append(f"cd {image.workdir}; {' '.join(words)}")
    return True


def _commands(text: str) -> Iterator[list[str]]:
    """Split a script into its commands, as lists of words; raise ValueError where quotes are left open."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;")
        lexer.whitespace_split, lexer.commenters = True, "#"
        yield from (list(words) for joins, words in groupby(lexer, _JOINS.fullmatch) if not joins)


def python_packages(words: Sequence[str], folder: Folder) -> list[str] | None:
    """List the packages that `pip install` asks for; None where they are not plain ones of the index."""
    found: list[str] = []
    left = iter(words)
    for word in left:
        if word in ("-r", "--requirement"):
            listed = _requirements(next(left, ""), folder)
            if listed is None:
                return None
            found += listed
        elif word.isdecimal() or ">" in word[:2]:  # output that goes elsewhere
            break
        elif word in _PIP_COUNTED:
            next(left, "")
        elif _PIP_ELSEWHERE.fullmatch(word) or not (word.startswith("-") or _REQUIREMENT.fullmatch(word)):
            return None
        elif not word.startswith("-"):
            found += [] if re.split(r"\W", word, maxsplit=1)[0] in _SEEDS else [word.replace(" ", "")]
    return found


def _requirements(name: str, folder: Folder) -> list[str] | None:
    """List what a file of requirements asks for, which lies in environment/ under its own name."""
    inside = next((each for each in (name, basename(name)) if folder.exists(f"environment/{each.lstrip('/')}")), None)
    if inside is None:
        return None
    lines = (line.split(" #")[0].strip() for line in folder.text(f"environment/{inside.lstrip('/')}").splitlines())
    listed = [line for line in lines if line and not line.startswith("#")]
    return None if any(not _REQUIREMENT.fullmatch(line.split(";")[0].strip()) for line in listed) else listed


def test_tools(script: str) -> tuple[str, ...]:
    """List what a script has `uvx` or `uv run` install for its tests; none where it uses neither."""
    if not _UVX.search(script):
        return ()
    found = [each.strip("\"'") for each in re.findall(r"(?:--with|-w)[ =](\S+)", script)]
    for words in re.findall(r"\buv (?:pip install|add)\s((?:[^\n&;|\\]|\\\n)*)", script):
        found += [word.strip("\"'") for word in words.split() if _REQUIREMENT.fullmatch(word)]
    has_pytest = any(re.match(r"pytest(?![\w-])", each) for each in found)
    return tuple(dict.fromkeys([*(() if has_pytest else ("pytest",)), *found]))


def _steps(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield the instructions with their lines, what follows, and the body of a here-document."""
    step, first = "", 0
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in ((number, line.strip()) for number, line in lines):
        if not line or line.startswith("#"):
            continue
        first = first if step else number
        step += line.removesuffix("\\") + " "
        if line.endswith("\\"):
            continue
        word, _, rest = step.strip().partition(" ")
        yield first, word.upper(), rest.strip(), "\n".join(_here(rest, lines))
        step = ""


def _here(rest: str, lines: Iterator[tuple[int, str]]) -> list[str]:
    marker = re.search(r"<<-?\s*[\"']?(\w+)", rest)
    if marker is None:
        return []
    return [*(text for _, text in takewhile(lambda line: line[1].strip() != marker[1], lines)), marker[1]]
