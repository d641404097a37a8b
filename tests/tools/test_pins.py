"""What CI and the action install is pinned by the hashes of its files, and no committed file says where to load one."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINNED = ("constraints.txt", "requirements.txt", "tools/audit-requirements.txt")
PIN = re.compile(
    r"[a-z0-9][a-z0-9.-]*(?:\[[a-z0-9,-]+\])?==[\w.!+]+(?: ?;[^\\#]*)?(?: --hash=sha256:[0-9a-f]{64})+", re.IGNORECASE
)
DOWNLOAD = re.compile(
    rb"https?://[^\s\"'<>]*(?:pythonhosted|pypi\.org/simple|registry\.npmjs|proxy\.golang|releases/download/"
    rb"|codeload\.|raw\.githubusercontent|storage\.googleapis"
    rb"|\.(?:whl|tgz|tar\.[gx]z|zip|deb|rpm|dmg|exe|jar|gguf|safetensors|onnx)(?![\w/]))",
    re.IGNORECASE,
)


def unpinned(text: str) -> list[str]:
    """List the requirements of a file that are no exact version with the hash of each of its files."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = [re.sub(r"\s+", " ", line).strip() for line in joined.splitlines() if line and not line.startswith("#")]
    return [line for line in lines if not PIN.fullmatch(line)]


@pytest.mark.parametrize("name", PINNED)
def test_every_pin_is_an_exact_version_with_hashes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert unpinned(text) == []
    assert text.count("==") > 10


@pytest.mark.parametrize(
    "line",
    [
        "rich==14.1.0",
        f"rich>=14.1.0 --hash=sha256:{'0' * 64}",
        f"rich==14.1.0 --hash=md5:{'0' * 64}",
        f"rich @ git+https://forge.invalid/rich --hash=sha256:{'0' * 64}",
        f"--index-url https://forge.invalid/ --hash=sha256:{'0' * 64}",
        "-r more.txt",
    ],
)
def test_a_requirement_without_version_or_hash_is_seen(line: str) -> None:
    assert unpinned(f"# pins\n{line}\n") == [line]


def test_no_committed_file_names_a_download_address() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    assert len(files) > 100
    named = {str(path.relative_to(ROOT)): DOWNLOAD.findall(path.read_bytes()) for path in files if path.is_file()}
    assert {name: found for name, found in named.items() if found} == {}


@pytest.mark.parametrize("rest", ["files.pythonhosted.org/packages/x", "forge.invalid/x-1.0-py3-none-any.whl"])
def test_a_download_address_is_seen(rest: str) -> None:
    assert DOWNLOAD.search(f"see https:{'//'}{rest}".encode())


def test_every_program_that_the_action_fetches_with_npm_has_the_hash_of_its_package() -> None:
    locks = sorted((ROOT / ".github" / "actions").rglob("package-lock.json"))
    assert len(locks) > 1
    for path in locks:
        packages = json.loads(path.read_text(encoding="utf-8"))["packages"]
        fetched = {name: package for name, package in packages.items() if name}
        assert [name for name, package in fetched.items() if not package["integrity"].startswith("sha512-")] == []
        assert [name for name, package in fetched.items() if "resolved" in package] == []
