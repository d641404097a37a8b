"""Parse a SKILL.md without loss: frontmatter, body, sections, list items, protected regions.

The text itself is never normalised, so rendering a parsed document gives back the same bytes.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from skillopt.errors import SkillError
from skillopt.skills.trained_files import FIRST_FILE, FilePart, SkillPlace, is_script, join_files, split_text
from skillopt.tasks import File, digest_of

GUIDANCE = "guidance"
"""Name of the protected region that only the slow update writes."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_NOT_LINE_ENDS = re.compile(r"[^\r\n]+")
_FENCE = re.compile(r"---[ \t]*(?:\r\n|\r|\n|\Z)")
_MARKER = re.compile(r"<!--[ \t]*skillopt:(?P<kind>begin|end)[ \t]+(?P<name>[\w-]+)[ \t]*-->")
_BLOCKS = frozenset(("heading", "paragraph", "fence", "code_block", "html_block", "hr"))
_LISTS = frozenset(("bullet_list_open", "ordered_list_open"))
_BOM = "\ufeff"


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text as a quarter of its UTF-8 bytes, rounded up.

    An estimate for when no provider has counted; show it as one.
    """
    return -(-len(text.encode("utf-8", "replace")) // 4)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and all below it down to the next heading of its level or higher."""

    title: str
    level: int
    line: int
    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """A list item or paragraph that an edit can name: its exact text and where it stands.

    `start` and `end` are offsets in the text, the line ending not included; `line` is 1-based.
    """

    text: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Region:
    """A protected region: markers and content, `start` to `end`; `inner` bounds the content."""

    name: str
    start: int
    end: int
    inner: tuple[int, int]

    @property
    def closed(self) -> bool:
        """Return whether it has an end marker; without one it reaches to the end of the text."""
        return self.inner[1] < self.end


@dataclass(frozen=True)
class SkillDocument:
    """The text of a SKILL.md, or of all files that are trained. Bytes that are not UTF-8 are lone surrogates."""

    text: str
    trained: tuple[str, ...] = ()
    script: bool = False
    """Whether it is one file that is no Markdown: it has no frontmatter, sections and list items."""

    @classmethod
    def parse(cls, source: bytes) -> "SkillDocument":
        """Read any bytes; `parse(b).render() == b` holds for all of them."""
        return cls(source.decode("utf-8", "surrogateescape"))

    def render(self) -> bytes:
        """Return the bytes of the file."""
        return self.text.encode("utf-8", "surrogateescape")

    @property
    def place(self) -> SkillPlace:
        """Return which of the files in its folder it has."""
        return SkillPlace(".", self.trained)

    @cached_property
    def parts(self) -> tuple[FilePart, ...]:
        """List its files; SKILL.md alone where nothing else is trained."""
        if not self.trained:
            return (FilePart(FIRST_FILE, 0, self.text),)
        return tuple(part for part in split_text(self.text) if part.path != FIRST_FILE or not self.place.free)

    def file(self, path: str = "") -> "SkillDocument":
        """Return one of its files as a document of its own; the first for no path, an empty one for an unknown path."""
        found = next((part for part in self.parts if path in ("", part.path)), FilePart(path, 0, ""))
        return SkillDocument(found.text, script=is_script(found.path))

    def with_files(self, texts: dict[str, str]) -> "SkillDocument":
        """Return a document of these files, trained like this one."""
        return replace(self, text=join_files(texts.items(), self.trained))

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """List the offset of every line, and last the offset of the end."""
        starts = [match.start() for match in _LINE.finditer(self.text)]
        return (*starts, len(self.text))

    @cached_property
    def _frontmatter(self) -> tuple[int, int, int] | None:
        """Find (content start, content end, body start) of the frontmatter."""
        start = len(_BOM) if self.text.startswith(_BOM) else 0
        opening = _FENCE.match(self.text, start)
        if opening is None or self.script:
            return None
        for line_start in self.line_starts:
            if line_start < opening.end():
                continue
            closing = _FENCE.match(self.text, line_start)
            if closing is not None and line_start < len(self.text):
                return opening.end(), line_start, closing.end()
        return None

    @property
    def frontmatter(self) -> str | None:
        """YAML frontmatter, or None if the block is not closed."""
        span = self._frontmatter
        return None if span is None else self.text[span[0] : span[1]]

    @property
    def body_start(self) -> int:
        """Return the offset at which the body starts."""
        span = self._frontmatter
        if span is not None:
            return span[2]
        return len(_BOM) if self.text.startswith(_BOM) else 0

    @property
    def body(self) -> str:
        """Return the Markdown after the frontmatter; edits touch only this."""
        return self.text[self.body_start :]

    @property
    def newline(self) -> str:
        """Return CRLF when most lines end in it, else LF."""
        crlf = self.text.count("\r\n")
        return "\r\n" if crlf * 2 > self.text.count("\n") else "\n"

    def line_of(self, offset: int) -> int:
        """Return the 1-based line on which an offset lies."""
        return bisect_right(self.line_starts, offset, 0, len(self.line_starts) - 1) or 1

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """List the body's sections in order; headings inside code fences are not headings."""
        sections = []
        nearest = [len(self.text)] * 7  # Start of the nearest later heading of each level.
        ends = [part.start + len(part.text) for part in self.parts]
        for token, inline in reversed([*pairwise(self._tokens)]):
            if token.type != "heading_open" or token.level or token.map is None:
                continue
            level, start, body = int(token.tag[1:]), *map(self.body_line, token.map)
            end = min(*nearest[: level + 1], ends[bisect_right(ends, start)])
            sections.append(Section(inline.content.strip(), level, self.line_of(start), start, body=body, end=end))
            nearest[level] = start
        return tuple(reversed(sections))

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """List the body's list items and top-level paragraphs in order, protected ones left out."""
        found = []
        for token in self._tokens:
            wanted = token.type == "list_item_open" or (token.type == "paragraph_open" and token.level == 0)
            if not wanted or token.map is None:
                continue
            start, end = self.body_line(token.map[0]), self.body_line(token.map[1])
            text = self.text[start:end].rstrip()
            last = bisect_right(self._protected, (start + len(text), -1)) - 1
            if last < 0 or start >= self._protected[last][1]:
                found.append(Block(text, self.line_of(start), start, start + len(text)))
        return tuple(found)

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """List protected regions by where they start; one that is never closed protects to the end.

        An end marker closes the innermost open region of its name. Markers count wherever they
        stand, in code fences too, and regions may overlap.
        """
        opened: dict[str, list[re.Match[str]]] = {}
        regions = []
        for mark in _MARKER.finditer(self.text, self.body_start):
            begins = opened.setdefault(mark["name"], [])
            if mark["kind"] == "begin":
                begins.append(mark)
            elif begins:
                begin = begins.pop()
                regions.append(Region(mark["name"], begin.start(), mark.end(), (begin.end(), mark.start())))
        size = len(self.text)
        for name, begins in opened.items():
            regions += [Region(name, begin.start(), size, (begin.end(), size)) for begin in begins]
        return tuple(sorted(regions, key=lambda region: region.start))

    def region(self, name: str) -> str:
        """Return the text inside a protected region, or an empty string when there is none."""
        return next((self.text[slice(*region.inner)].strip() for region in self.regions if region.name == name), "")

    def with_region(self, name: str, content: str) -> "SkillDocument":
        """Replace the text inside a protected region, adding the region at the end when missing."""
        if self.trained:
            texts = {part.path: part.text for part in self.parts}
            return self.with_files(texts | {self.parts[0].path: self.file().with_region(name, content).text})
        newline = self.newline
        inner = newline + content.strip().replace("\r\n", "\n").replace("\n", newline) + newline
        for region in self.regions:
            if region.name == name and not region.closed:
                raise SkillError(
                    f"SKILL.md:{self.line_of(region.start)}: expected an end to the protected region {name!r}, "
                    f"found none; add the line <!-- skillopt:end {name} --> where it ends"
                )
            if region.name == name:
                return SkillDocument(self.text[: region.inner[0]] + inner + self.text[region.inner[1] :])
        lead = "" if not self.text else newline if self.text.endswith(("\n", "\r")) else newline * 2
        return SkillDocument(
            f"{self.text}{lead}<!-- skillopt:begin {name} -->{inner}<!-- skillopt:end {name} -->{newline}"
        )

    @cached_property
    def _tokens(self) -> list[Token]:
        if not self.trained:
            return _parse("" if self.script else self.body)
        # Scripts are blank lines, and what begins a file is a rule, which ends every list.
        shown = (_NOT_LINE_ENDS.sub("", part.text) if is_script(part.path) else part.text for part in self.parts)
        return _parse(("***\n" * self.place.free + "\n***\n".join(shown))[self.body_start :])

    @cached_property
    def outline(self) -> tuple[tuple[str, int, str, int, int], ...]:
        """List quotations and blocks: kind, nesting (1, 0 or -1), tag, first body line, line after the last."""
        found = []
        for token in self._tokens:
            kind = token.type.removesuffix("_open").removesuffix("_close")
            if kind == "blockquote" or (kind in _BLOCKS and token.map is not None):
                found.append((kind, token.nesting, token.tag, *(token.map or (0, 0))))
        return tuple(found)

    def continues_list(self, offset: int) -> bool:
        """Return whether an offset at the end of a line lies in a list that goes on after it."""
        line = bisect_right(self._body_lines, offset) - 1
        lists = (token.map for token in self._tokens if token.type in _LISTS and token.map is not None)
        ends = [last for first, last in lists if first <= line < last]
        return any(self.text[self.body_line(line + 1) : self.body_line(last)].strip() for last in ends)

    @cached_property
    def _body_lines(self) -> tuple[int, ...]:
        first = bisect_right(self.line_starts, self.body_start)
        return (self.body_start, *self.line_starts[first:-1])

    @cached_property
    def _protected(self) -> tuple[tuple[int, int], ...]:
        spans: list[tuple[int, int]] = []
        for region in self.regions:
            if spans and region.start < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(spans[-1][1], region.end))
            else:
                spans.append((region.start, region.end))
        return tuple(spans)

    def body_line(self, number: int) -> int:
        """Return the offset of a 0-based body line, the end of the text for one past the last."""
        return self._body_lines[number] if number < len(self._body_lines) else len(self.text)


# Drafts are built in many ways from the same edits, and one text comes up again and again.
@lru_cache(maxsize=64)
def _parse(body: str) -> list[Token]:
    return _parser().parse(body)


@cache
def _parser() -> MarkdownIt:
    """Make the parser, which leaves inline markup alone, for it has no offsets."""
    parser = MarkdownIt("commonmark").disable(["inline", "text_join"])
    parser.parse("")  # its rules are gathered by the first use, which threads may not do side by side
    return parser


@dataclass(frozen=True)
class Skill:
    """A skill folder, or a free document: its name, the text that is trained and its other files.

    Args:
        name: The folder's name.
        document: The SKILL.md, with the other files that are trained.
        files: Everything else that ships (`evals/` does not), sorted by path.
        left_out: What else lies in its folder and does not ship, and why: a sentence each.
    """

    name: str
    document: SkillDocument
    files: tuple[File, ...] = ()
    left_out: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return f"<Skill {self.name!r}: {len(self.text.splitlines())} lines, {len(self.files)} other files>"

    def __deepcopy__(self, _: dict[int, object]) -> "Skill":
        """Share it with every copy: it never changes."""
        return self

    @property
    def text(self) -> str:
        """Return the whole text that is trained: SKILL.md, or all files that are, joined."""
        return self.document.text

    @cached_property
    def shipped(self) -> tuple[File, ...]:
        """List all its files, sorted by path."""
        parts = (File(one.path, one.text.encode("utf-8", "surrogateescape")) for one in self.document.parts)
        return tuple(sorted((*parts, *self.files), key=lambda file: file.path))

    @cached_property
    def digest(self) -> str:
        """Identify the skill by all its bytes, whichever of its files are trained."""
        first = next((file.content for file in self.shipped if file.path == FIRST_FILE), b"")
        rest = (file for file in self.shipped if file.path != FIRST_FILE)
        return digest_of(first, *(part for file in rest for part in (file.path, file.content)))

    def with_document(self, document: SkillDocument) -> "Skill":
        """Return the same skill with another text; which of its files are trained stays as it is."""
        return replace(self, document=replace(document, trained=self.document.trained))
