"""A double of `gh api` with the options that the action uses; it asks the API that GITHUB_API_URL names."""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import requests


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["api"])
    parser.add_argument("path")
    for flag in ("--silent", "--paginate"):
        parser.add_argument(flag, action="store_true")
    for option in ("--method", "--jq"):
        parser.add_argument(option, default="")
    parser.add_argument("-f", action="append", default=[], dest="texts")
    parser.add_argument("-F", action="append", default=[], dest="files")
    given = parser.parse_args()
    assert os.environ["GH_HOST"] == "github.com"
    body: dict[str, Any] = {}
    for name, text in (one.split("=", 1) for one in given.texts):
        _put(body, name, text)
    for name, place in (one.split("=@", 1) for one in given.files):
        _put(body, name, Path(place).read_text(encoding="utf-8"))
    method = given.method or ("POST" if body else "GET")
    url, token = f"{os.environ['GITHUB_API_URL']}/{given.path}", os.environ["GH_TOKEN"]
    answer = requests.request(method, url, json=body or None, headers={"Authorization": f"token {token}"}, timeout=60)
    if given.jq:
        subprocess.run(["jq", "--raw-output", given.jq], input=answer.text, text=True, check=True)
    elif not given.silent:
        sys.stdout.write(answer.text)
    if not answer.ok:
        sys.stderr.write(f"gh: {answer.json()['message']} (HTTP {answer.status_code})\n")
    return 0 if answer.ok else 1


def _put(body: dict[str, Any], name: str, text: str) -> None:
    """Add a field, as `title` or `output[title]`."""
    first, *more = re.findall(r"[^\[\]]+", name)
    (body.setdefault(first, {}) if more else body)[more[0] if more else first] = text


if __name__ == "__main__":
    sys.exit(main())
