"""Whether two rules say the same in other words, by the words that they share; deterministic, and in English only.

Words count by stem and by a table of words that rules use for one another. Measured with `tools/measure_refusals.py`.
"""

import re
from functools import cache, lru_cache
from typing import Final

__all__ = ["is_reworded"]

_LEAST_SHARED: Final = 0.33
_LEAST_OF_ONE: Final = 0.5
"""Share of words in common from which two rules are alike, and where only one word is in common.

94% of 31 pairs of wordings of the demo's rules are alike by them, and 9% of 780 pairs of its different rules; a least
share of 0.3 gives 94% and 10%, one of 0.4 gives 87% and 6%.
"""
_STEM: Final = 7
_LEAST_PREFIX: Final = 5

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019/-][^\W_]+)*|[!?%$€&]")
_ENDINGS: Final = re.compile(
    r"(?<=\w{3})(?:ations?|[iy][sz]ing|ings?|i[sz]ed|ies|i[sz]e|ically|ical|ly|ed|e?rs?|es|[sey])$"
)
_PHRASES: Final = {
    "leave out": "omit",
    "left out": "omit",
    "full stop": "period",
    "pull request": "pull-request",
    "merge request": "pull-request",
}
_FRAME: Final = """
a an and any are as at be been before after but by can could do does done doesn't don't each either else every for
from get give gives given had has have how if in into is it its itself just keep let like make makes may might must
need needs no none nor not of on ones only or other our out over own per put rather shall should so some such than
that the their them then there these they this those through to too under up us use used uses using very was way we
were what whatever when where whether which while who whom whose why will with within without would write written you
your always never avoid all instead exactly stand stands also anything everything something about below above both
behind between during further here more much nothing now off once until upon yet still rule text prefer ensure say
says state mention include add provide specify contain output show return print note take appear come goes go set
"""
"""Words that any rule may have, whatever it is about."""

_ALIKE: Final = """
lower lowercase uncapitalised small|upper uppercase capital capitals capitalize|sort order arrange alphabetical rank
remove drop delete omit strip trim skip exclude eliminate discard erase purge|sequence ascending
begin start first beginning top opening lead leading initial front prefix precede
end close finish last final trailing closing bottom conclude suffix terminate
duplicate identical repeat repeated twice redundant deduplicate dedupe equal
iso yyyy yyyy-mm-dd 8601|email e-mail mail e-mails|period dot|empty missing blank absent null
bracket parenthesis parentheses|question ask request query|reply answer respond response|claim statement assertion
decimal digit place|refund reimburse|quote cite verbatim citation|short brief concise succinct terse
max maximum most limit exceed cap longer|least minimum min fewer|alternative option choice|file module document
time timestamp clock|explain describe spell clarify define|valid validate check verify|function method procedure routine
annotation annotate hint type|heading header title|list bullet enumerate|space whitespace blanks
error exception failure|row record|column field|merge join combine|split separate separator
convert transform change turn translate|format form style|url link hyperlink|number figure numeric|amount sum price
company competitor competing rival|customer client user|pull-request pr|percent %|dollar $ usd|euro € eur|ampersand &
1 one single|2 two|3 three|4 four|5 five|summary summarise abstract overview|comment remark docstring|key property
polite formal|bold strong|image picture|heavy weight weigh|large big highest
"""


def is_reworded(one: str, other: str) -> bool:
    """Return whether two rules are alike in what they say.

    >>> is_reworded("Write e-mail addresses in lower case.", "Lowercase every email address.")
    True
    >>> is_reworded("Write e-mail addresses in lower case.", "Write country codes in upper case.")
    False
    """
    sides = _meaning(one), _meaning(other)
    fewer, more = sorted(map(len, sides))
    shared = sum(any(_is_same(word, theirs) for theirs in sides[1]) for word in sides[0])
    if not fewer:
        return False
    share = (shared / fewer + 2 * shared / (fewer + more)) / 2
    return share >= (_LEAST_OF_ONE if shared == 1 else _LEAST_SHARED)


@lru_cache(maxsize=4096)
def _meaning(text: str) -> frozenset[str]:
    text = text.casefold()
    for phrase, word in _PHRASES.items():
        text = text.replace(phrase, word)
    known, found = _groups(), set[str]()
    for word in _WORD.findall(text):
        whole = "/" in word or _stem(word) in known
        parts = [word] if whole else re.split(r"['\u2019-]", word)
        kept = (part for part in parts if part not in _frame() and (len(part) > 1 or not part.isalpha()))
        found.update(known.get(_stem(part), _stem(part)) for part in kept if part)
    return frozenset(found)


@cache
def _frame() -> frozenset[str]:
    return frozenset(_FRAME.split())


@cache
def _groups() -> dict[str, str]:
    """Map the stem of each word that has others like it to the first of them."""
    groups = (group.split() for group in _ALIKE.replace("\n", "|").split("|"))
    return {_stem(word): f"={group[0]}" for group in groups for word in reversed(group)}


def _stem(word: str) -> str:
    return _ENDINGS.sub("", word)[:_STEM]


def _is_same(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _LEAST_PREFIX and long.startswith(short))
