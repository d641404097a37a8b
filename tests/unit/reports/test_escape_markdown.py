"""Untrusted text in Markdown stays text, in what GitHub's own parser makes of it and in what is written."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from skillopt.reports.markdown import code_block, code_span, inline_code, shell_block, text_block, web_link
from skillopt.safety.escaping import escape_hidden
from tests.fakes.hostile_views import read

HOSTILE = [
    "@team please merge",
    "fixes #1, closes octo/repo#2, resolves GH-3",
    "</code></pre></details><script>alert(1)</script>",
    "`` ` ``` ```js\nalert(1)\n```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "[x](javascript:alert(1)) ![i](https://evil.example/p.png) <https://evil.example> www.evil.example a@b.example",
    "# Heading\n\n---\n\n- [x] done\n\n> quote\n\n1. one",
    "<!-- skillopt:rows --> --> <!--",
    "/approve\n/lgtm\nbors r+\n@dependabot merge",
    "\u202eevil\u2066 zero\u200bwidth \U000e0041tag \ufeff \x1b[31mred\x00",
    "**bold** ~~gone~~ :tada: $x$ [^1] &copy; \\* &#64;team",
    "Co-authored-by: Nobody <nobody@example.com>",
]
TEXT = st.one_of(st.text(), st.text(alphabet="@#/`<>!-[]()|*_~:.$&;\\ \n\tabgh19-"), st.sampled_from(HOSTILE))


@given(TEXT)
@example(HOSTILE[5])
def test_any_text_on_a_line_is_one_piece_of_code_that_says_what_can_be_seen(text: str) -> None:
    if not inline_code(text):
        return
    tags, shown = read(f"x {inline_code(text)} y")
    assert tags == ["p", "code", "/code", "/p"]
    assert shown.strip() == f"x {' '.join(escape_hidden(text).split())} y"


@given(TEXT)
@example(HOSTILE[3])
@example("`")
@example("a`")
@example("``a")
def test_a_span_says_the_same_between_backticks_and_makes_nothing_act(text: str) -> None:
    span = code_span(text)
    if not span:
        return
    tags, shown = read(f"- [x] **1** {span} y")
    kinds = [tag.split(" ")[0] for tag in tags if "input" not in tag]
    assert kinds == ["ul", "li", "strong", "/strong", "code", "/code", "/li", "/ul"]
    assert shown.strip() == f"1 {' '.join(escape_hidden(text).split())} y"
    bare = re.sub(r"<!-- -->", "", span)
    assert not re.search(r"@\w|#\d|(?i:gh-\d)|<!--|://|(?m:^/)", bare)


@given(TEXT)
@example("```\n````js\n~~~")
def test_lines_of_a_text_stay_in_their_block(text: str) -> None:
    tags, shown = read(f"before\n\n{text_block(f'+{text}', 'diff')}\n\n**after**\n")
    kinds = [tag.split(" ")[0] for tag in tags]
    assert kinds == ["p", "/p", "pre", "code", "/code", "/pre", "p", "strong", "/strong", "/p"]
    assert shown.rstrip().endswith("after")


def test_an_address_is_a_link_only_where_it_is_nothing_but_an_address() -> None:
    assert web_link("https://github.com/acme/skills/pull/1", "#1") == "[#1](https://github.com/acme/skills/pull/1)"
    for text in ("javascript:alert(1)", "https://x.example/) [y](http://z", "https://x.example/a b"):
        assert "a" not in {tag.split(" ")[0] for tag in read(web_link(text, "here"))[0]}


@given(TEXT)
def test_any_text_in_a_block_ends_with_the_block(text: str) -> None:
    tags, shown = read(f"before\n\n{code_block(text, 'diff')}\n\n**after**\n")
    assert tags == ["p", "/p", "pre [('lang', 'diff')]", "code", "/code", "/pre", "p", "strong", "/strong", "/p"]
    assert shown.rstrip().endswith("after")


@given(TEXT)
def test_what_is_written_holds_no_mention_reference_command_or_trailer_for_bots_and_git(text: str) -> None:
    for written in (inline_code(text), code_block(text)):
        bare = re.sub(r"<!-- -->|</?code>|</?pre>|&#x[0-9a-f]+;", "\0", written)
        assert not re.search(r"[@#/`<>:|\[\]&]|www\.", bare)
        assert not re.search(r"(?i)gh-\d", written)
        assert not re.search(r"#\d", written)
        assert not re.search(r"(?m)^\w", written)


def test_commands_of_ours_can_be_copied_and_a_strange_value_in_one_does_nothing() -> None:
    assert shell_block(["git fetch origin skillopt/rows"]) == "```sh\ngit fetch origin skillopt/rows\n```"
    assert read(shell_block(["skillopt report 'a`\n```\n# b'"]))[0] == ["pre", "code", "/code", "/pre"]
