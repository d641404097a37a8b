"""A program in place of an agent, or of a verifier's, that looks for secrets wherever its user may read."""

import os
import sys
from pathlib import Path

_SPY = '''#!@PYTHON@ -I
"""Tells how many places hold each secret; the secrets stand here backwards, so that this file is none of them."""
import base64, os, pathlib, sys
if "--version" in sys.argv:
    print("2.1.329 (Claude Code)")
    raise SystemExit
secrets = {name: text[::-1] for name, text in @SECRETS@.items()}
numbers = [name for name in os.listdir("/proc") if name.isdigit()]
places = [f"/proc/{number}/{file}" for number in numbers for file in ("environ", "cmdline")]
folders = [os.getcwd(), os.environ.get("HOME", "/"), os.environ.get("TMPDIR", "/"), @PROJECT@]
folders += [str(path) for path in pathlib.Path("/tmp").glob("skillopt-*")]
for folder in folders:
    places += [str(path) for path in pathlib.Path(folder).rglob("*") if path.is_file()] if folder != "/" else []
counts = dict.fromkeys(secrets, 0)
for place in dict.fromkeys(places):
    try:
        with open(place, "rb") as file:
            content = file.read(10_000_000)
    except OSError:
        continue
    for name, text in secrets.items():
        forms = (text.encode(), base64.b64encode(f"x-access-token:{text}".encode()))
        counts[name] += any(form in content for form in forms)
print("SPY", *(f"{name}={count}" for name, count in counts.items()), f"places={len(places)}", "YPS", file=sys.stderr)
raise SystemExit(1)
'''


def write_spy(path: Path, project: Path, **secrets: str) -> Path:
    """Write the program, which looks for these secrets in all processes, in its folders and in a project."""
    backwards = {name: text[::-1] for name, text in secrets.items()}
    text = _SPY.replace("@PYTHON@", os.path.realpath(sys.executable)).replace("@SECRETS@", repr(backwards))
    path.write_text(text.replace("@PROJECT@", repr(str(project))), encoding="utf-8")
    path.chmod(0o755)
    return path


def read_findings(text: str) -> dict[str, int]:
    """Read what the program said first: in how many places each secret is, and how many it looked at."""
    said = text.partition("SPY ")[2].partition(" YPS")[0]
    assert said, text[-2000:]
    return {name: int(count) for name, _, count in (word.partition("=") for word in said.split())}
