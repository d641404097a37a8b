"""Find addresses in a text: URLs of any scheme, and names of hosts that stand without one.

An address is known by its host, so that a skill may name another page of a host that it names already. Where everybody
can have a page (code forges, package registries), it is known by the host and the first name after it.
"""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_addresses"]

_REST: Final = r"[^\s<>\"`]*"
_DOMAINS: Final = (
    "com|net|org|io|dev|app|ai|sh|co|me|xyz|info|biz|top|site|online|cloud|club|link|click|tk|cc|page|gg|to|ly"
    "|ru|cn|uk|de|fr|eu|in|br|us|ca|au|nl|se|ch|it|es|pl|jp|kr|ir|su|gov|edu|mil"
)
_FILES: Final = (
    "md|markdown|mdx|txt|rst|py|pyi|ipynb|js|mjs|cjs|ts|tsx|jsx|json|jsonl|yaml|yml|toml|ini|cfg|conf|env|lock|xml|html?|css"
    "|scss|less|svg|png|jpe?g|gif|webp|ico|pdf|docx?|xlsx?|pptx?|csv|tsv|sql|sh|bash|zsh|fish|ps1|bat|cmd|rb|rs|go|java|kt"
    "|swift|c|cc|cpp|h|hpp|cs|csproj|fs|php|pl|lua|r|rmd|vue|svelte|astro|tf|hcl|proto|graphql|gradle|log|bak|tmp|out|bin"
    "|exe|dll|so|dylib|a|o|jar|war|tar|gz|tgz|bz2|xz|7z|whl|deb|rpm|dmg|pkg|mp3|mp4|wav|avi|webm|ttf|woff2?|eot|db"
    "|sqlite3?|parquet|arrow|npz|npy|pkl|pt|onnx|safetensors|ckpt|h5|patch|diff|pem|crt|cer|key|pub|d|git|github|claude"
    "|skill|agents?|app|xcodeproj|xcworkspace|framework|usd[acz]?|glb|gltf|obj|stl|js|snap|test|spec|local|dev|prod|example"
)
_HAS_ADDRESS: Final = re.compile(r"[:@/]\S|\bdot\b|\.\w|xn--", re.IGNORECASE)
_LABELS: Final = r"(?:[\w-]{1,63}\.){1,8}"
_ADDRESS: Final = re.compile(
    rf"[a-z0-9+.-]{{0,20}}://{_REST}"  # Any scheme, also one cut off after the slashes.
    rf"|(?<![a-z0-9])(?:https?|ftps?|wss?|file):[/\\]{_REST}"
    rf"|(?<![a-z0-9])(?:https?:[\w%]|(?:javascript|vbscript|mailto|tel|sms):[^\s<>]){_REST}"
    rf"|(?<![a-z0-9])data:(?:[a-z0-9.+-]{{1,40}}/[a-z0-9.+-]{{1,80}}|[;,]){_REST}"
    rf"|(?<![\w-])intent:{_REST}#Intent{_REST}|(?<![\w-])blob:[\w/]{_REST}"
    rf"|(?<![\w:/.])//[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}{_REST}"  # //host/path
    r"|(?<=\]\()<?[a-z][a-z0-9+.-]{1,31}:[^\s<>\"`)]*"  # [text](scheme:...)
    r"|(?<=<)[a-z][a-z0-9+.-]{1,31}:(?!:)[^\s<>]*(?=>)"  # <scheme:...>
    rf"|(?<![\w.@-])www\.{_REST}"
    rf"|(?<![\w.@-])[\w.-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}:[\w~/]{_REST}"  # user@host:path
    rf"|(?<![\w.-])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?::(?:\d{{1,5}}|/)|/(?!\d{{1,2}}\b)){_REST}"
    rf"|\[[0-9a-f:]{{2,45}}\]:\d{{1,5}}{_REST}"
    rf"|(?<=[^\s(][)}}])\.{_LABELS}(?:{_DOMAINS}|test|example|invalid)\b(?![\w(]|\.\w)"  # $(command).host.tld
    rf"|(?<![\w-])xn--[a-z0-9-]{{1,60}}{_REST}"
    rf"|(?<![\w.@-]){_LABELS}(?:{_DOMAINS})(?::\d{{1,5}}|[/?]){_REST}"  # host.tld/path
    rf"|(?<![\w.@/$(){{}}-]){_LABELS}(?!(?:{_FILES})\b)[^\W\d_]{{3,24}}(?:/[\w?#%]|\?[\w%-]{{1,40}}="
    rf"|:\d{{2,5}}\b){_REST}"
    rf"|(?<![\w./$-]){_LABELS}[^\W\d_]{{0,20}}[^\W\x00-\x7f][^\W\d_]{{0,20}}(?:/[\w?#%]|\?[\w%-]{{1,40}}=)"
    r"|\b[\w-]{1,63}[ \t]?(?:\[\.\]|\[dot\]|\(dot\)|\{\.\})[ \t]?[a-z]{2,18}\b"
    rf"|(?<=\]\(){_LABELS}(?!(?:{_FILES})\b)[a-z]{{2,24}}/{_REST}"
    rf"|(?<![\w./$-]){_LABELS}(?:test|example|invalid)(?:/[\w?#%]|\?[\w%-]{{1,40}}=|:\d{{2,5}}\b){_REST}"
    rf"|(?<![\w.@/-]){_LABELS}(?:com|org|xyz|biz|site|online|onion|icu|live|click|website)(?![\w.(-]?\w)(?!\()",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"(?<![\w.@:=<>~^/-])(?:(?:25[0-4]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
    r"(?![\w-]|\.\d|/(?:8|16|24)\b)"
)
_LARGE_NUMBER: Final = 100

_EDGES: Final = "](<.,;:!?'*_|)>}/\\"
_SCHEME: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{0,30}):(?!\d)", re.IGNORECASE)
_WITH_HOST: Final = frozenset(("http", "https", "hxxp", "hxxps", "ftp", "ftps", "ws", "wss", "git", "ssh", "git+https"))
_HERE: Final = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\](?::\d{1,5})?)")
_SHARED: Final = re.compile(
    r"(?:(?:raw|gist|api|www)\.)?(?:github|githubusercontent|gitlab|bitbucket|huggingface|npmjs|medium|docker"
    r"|pypi|hf|t)\.\w{2,3}"
    r"|raw\.githubusercontent\.com|(?:docs|drive|sites|script|storage)\.google(?:apis)?\.com|t\.me|discord\.(?:com|gg)"
    r"|s3[\w.-]{0,40}\.amazonaws\.com|pastebin\.com|bit\.ly|tinyurl\.com|codeberg\.org|sourceforge\.net"
)


def find_addresses(line: str) -> Iterator[TextMatch]:
    """Find the addresses on one line; those of the machine itself are none."""
    if not _HAS_ADDRESS.search(line):
        return
    for match in _ADDRESS.finditer(line):
        url = match[0].strip(_EDGES)
        key = _host(url)
        if not _HERE.fullmatch(key):
            yield TextMatch(LintClass.URL, key, 0, match[0].rstrip(_EDGES), "the URL")
    for match in _NUMBER.finditer(line):
        if _is_host(match[0]):
            yield TextMatch(LintClass.URL, match[0], 0, match[0], "the URL")


def _is_host(number: str) -> bool:
    """Whether four numbers are an address: a version and a section have small ones, a mask begins with 255."""
    parts = [int(part) for part in number.split(".")]
    return parts[0] not in {0, 127, 255} and max(parts) >= _LARGE_NUMBER


def _host(url: str) -> str:
    """Return what an address is known by: its host, with the owner where many share it; all of it where it has none."""
    scheme = _SCHEME.match(url)
    named = scheme["scheme"].lower() if scheme and "." not in scheme["scheme"] else ""
    if named and named not in _WITH_HOST and not url.startswith("//", len(named) + 1):
        return url
    rest = url[len(named) + 1 :] if named else url
    rest = rest.replace("\\", "/").lstrip("/")
    authority, *path = re.split(r"[/?#]", rest, maxsplit=2)
    host = authority.rsplit("@", 1)[-1].lower().removeprefix("www.")
    host = host if host.startswith("[") else host.split(":", 1)[0]
    if _SHARED.fullmatch(host) and path:
        return f"{host}/{path[0].lower()}"
    return host or url
