"""Read a text as a person takes it: look-alike letters, entities, escapes and hidden characters resolved.

The look-alikes are those of Unicode Technical Standard 39 (confusables.txt, Unicode License v3) that stand for one
ASCII letter, digit or sign of an address and that compatibility normalisation leaves alone.
"""

import re
import unicodedata
from html import unescape
from typing import Final

from skillopt.safety.hidden_unicode import without_hidden

__all__ = ["as_read", "without_entities"]

_NUMBERED: Final = re.compile(r"&#0*(?P<digits>[0-9]++)")
_MOST_DIGITS: Final = 7
"""Of a character's number."""

_ESCAPE: Final = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_DASHES: Final = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
_WIDE_DOT: Final = re.compile("(?<=[0-9A-Za-z])[\u3002\uff61](?=[0-9A-Za-z])")
_ALIKE: Final = {
    "-": "\u2043\u02d7\u2796\u2cba",
    ".": "\ua60e\ua4f8",
    "/": "\u1735\u2041\u2215\u2044\u2571\u27cb\u29f8\U0001d23a\u31d3",
    "1": "\u06f1\U00010320",
    "2": "\ua75a\u01a7\u03e8\ua644\u14bf\ua6ef",
    "3": "\U0001d206\ua7ab\u021c\u01b7\ua76a\u2ccc\u0417\u04e0\U00016f3b\U000118ca",
    "4": "\u13ce\U000118af",
    "5": "\u01bc\U000118bb",
    "6": "\u2cd2\u0431\u13ee\U000118d5",
    "7": "\U0001d212\U000104d2\U000118c6",
    "8": "\u09ea\u0a6a\u0223\u0222\U0001031a",
    "9": "\u0a67\u0b68\u09ed\u0d6d\ua76e\u2cca\U000118cc\U000118ac\U000118d6",
    ":": "\u16ec\u205a\u02f8\ua789\u2236\u02d0\ua4fd",
    "=": "\u1400\u2e40\u30a0\ua4ff",
    "?": "\u0294\u0241\u097d\u13ae\ua6eb",
    "A": "\u0391\U0001d6a8\U0001d6e2\U0001d71c\U0001d756\U0001d790\u0410\u13aa\u15c5\ua4ee\U00016f40\U000102a0",
    "B": (
        "\ua7b4\u0392\U0001d6a9\U0001d6e3\U0001d71d\U0001d757\U0001d791\u0412\u13f4\u15f7\ua4d0\U00010282"
        "\U000102a1\U00010301"
    ),
    "C": "\U0001f74c\U000118f2\U000118e9\u03f9\u2ca4\u0421\u13df\ua4da\U000102a2\U00010302\U00010415\U0001051c",
    "D": "\u13a0\u15de\u15ea\ua4d3",
    "E": (
        "\u22ff\u0395\U0001d6ac\U0001d6e6\U0001d720\U0001d75a\U0001d794\u0415\u2d39\u13ac\ua4f0\U000118a6"
        "\U000118ae\U00010286"
    ),
    "F": "\U0001d213\ua798\u03dc\U0001d7ca\u15b4\ua4dd\U000118c2\U000118a2\U00010287\U000102a5\U00010525",
    "G": "\u050c\u13c0\u13f3\ua4d6",
    "H": "\u0397\U0001d6ae\U0001d6e8\U0001d722\U0001d75c\U0001d796\u2c8e\u041d\u13bb\u157c\ua4e7\U000102cf",
    "I": "\u0196\u0399\U0001d6b0\U0001d6ea\U0001d724\U0001d75e\U0001d798\u2c92\u0406\u04c0",
    "J": "\ua7b2\u037f\u0408\u13ab\u148d\ua4d9",
    "K": "\u039a\U0001d6b1\U0001d6eb\U0001d725\U0001d75f\U0001d799\u2c94\u041a\u13e6\u16d5\ua4d7\U00010518",
    "L": "\U0001d22a\u2cd0\u13de\u14aa\ua4e1\U00016f16\U000118a3\U000118b2\U0001041b\U00010526",
    "M": (
        "\u039c\U0001d6b3\U0001d6ed\U0001d727\U0001d761\U0001d79b\u03fa\u2c98\u041c\u13b7\u15f0\u16d6\ua4df"
        "\U000102b0\U00010311"
    ),
    "N": "\u039d\U0001d6b4\U0001d6ee\U0001d728\U0001d762\U0001d79c\u2c9a\ua4e0\U00010513",
    "O": (
        "\u09e6\u0b66\U000114d0\U000118e0\u039f\U0001d6b6\U0001d6f0\U0001d72a\U0001d764\U0001d79e\u2c9e\u041e"
        "\u0555\u2d54\u12d0\u0b20\U000104c2\ua4f3\U000118b5\U00010292\U000102ab\U00010404\U00010516"
    ),
    "P": "\u03a1\U0001d6b8\U0001d6f2\U0001d72c\U0001d766\U0001d7a0\u2ca2\u0420\u13e2\u146d\ua4d1\U00010295",
    "Q": "\u2d55",
    "R": "\U0001d216\u01a6\u13a1\u13d2\U000104b4\u1587\ua4e3\U00016f35",
    "S": "\u0405\u054f\u13d5\u13da\ua4e2\U00016f3a\U00010296\U00010420",
    "T": (
        "\u22a4\u27d9\U0001f768\u03a4\U0001d6bb\U0001d6f5\U0001d72f\U0001d769\U0001d7a3\u2ca6\u0422\u13a2"
        "\ua4d4\U00016f0a\U000118bc\U00010297\U000102b1\U00010315"
    ),
    "U": "\u222a\u22c3\u054d\u1200\U000104ce\u144c\ua4f4\U00016f42\U000118b8",
    "V": "\U0001d20d\u06f7\u0474\u2d38\u13d9\u142f\ua6df\ua4e6\U00016f08\U000118a0\U0001051d",
    "W": "\U000118ef\U000118e6\u051c\u13b3\u13d4\ua4ea",
    "X": (
        "\u166d\u2573\U00010322\U000118ec\ua7b3\u03a7\U0001d6be\U0001d6f8\U0001d732\U0001d76c\U0001d7a6\u2cac"
        "\u0425\u2d5d\u16b7\ua4eb\U00010290\U000102b4\U00010317\U00010527"
    ),
    "Y": (
        "\u03a5\u03d2\U0001d6bc\U0001d6f6\U0001d730\U0001d76a\U0001d7a4\u2ca8\u0423\u04ae\u13a9\u13bd\ua4ec"
        "\U00016f43\U000118a4\U000102b2"
    ),
    "Z": "\U000102f5\U000118e5\u0396\U0001d6ad\U0001d6e7\U0001d721\U0001d75b\U0001d795\u13c3\ua4dc\U000118a9",
    "a": "\u237a\u0251\u03b1\U0001d6c2\U0001d6fc\U0001d736\U0001d770\U0001d7aa\u0430",
    "b": "\u0184\u042c\u13cf\u1472\u15af",
    "c": "\u1d04\u03f2\u2ca5\u0441\uabaf\U0001043d",
    "d": "\u0501\u13e7\u146f\ua4d2",
    "e": "\u212e\uab32\u0435\u04bd",
    "f": "\uab35\ua799\u1e9d\u0584",
    "g": "\u0261\u1d83\u018d\u0581",
    "h": "\u04bb\u0570\u13c2",
    "i": (
        "\u02db\u2373\u0131\U0001d6a4\u026a\u0269\u03b9\u1fbe\u037a\U0001d6ca\U0001d704\U0001d73e\U0001d778"
        "\U0001d7b2\u0456\ua647\u04cf\uab75\u13a5\U000118c3"
    ),
    "j": "\u03f3\u0458",
    "l": "\u01c0\u2d4f\u16c1\ua4f2\U00016f28\U0001028a\U00010309",
    "n": "\u0578\u057c",
    "o": (
        "\u0966\u0a66\u0ae6\u0be6\u0c66\u0ce6\u0d66\u0e50\u0ed0\u1040\u06f5\u1d0f\u1d11\uab3d\u03bf\U0001d6d0"
        "\U0001d70a\U0001d744\U0001d77e\U0001d7b8\u03c3\U0001d6d4\U0001d70e\U0001d748\U0001d782\U0001d7bc"
        "\u2c9f\u043e\u10ff\u0585\u0d20\u101d\U000104ea\U000118c8\U000118d7\U0001042c"
    ),
    "p": (
        "\u2374\u03c1\u03f1\U0001d6d2\U0001d6e0\U0001d70c\U0001d71a\U0001d746\U0001d754\U0001d780\U0001d78e"
        "\U0001d7ba\U0001d7c8\u2ca3\u0440"
    ),
    "q": "\u051b\u0563\u0566",
    "r": "\uab47\uab48\u1d26\u2c85\u0433\uab81",
    "s": "\ua731\u01bd\u0455\uabaa\U000118c1\U00010448",
    "u": (
        "\ua79f\u1d1c\uab4e\uab52\u028b\u03c5\U0001d6d6\U0001d710\U0001d74a\U0001d784\U0001d7be\u057d"
        "\U000104f6\U000118d8"
    ),
    "v": ("\u2228\u22c1\u1d20\u03bd\U0001d6ce\U0001d708\U0001d742\U0001d77c\U0001d7b6\u0475\U00011706\uaba9\U000118c0"),
    "w": "\u026f\u1d21\u0461\u051d\u0561\U0001170a\U0001170e\U0001170f\uab83",
    "x": "\u166e\u00d7\u292b\u292c\u2a2f\u0445\u1541\u157d",
    "y": (
        "\u0263\u1d8c\u028f\u1eff\uab5a\u03b3\u213d\U0001d6c4\U0001d6fe\U0001d738\U0001d772\U0001d7ac\u0443"
        "\u04af\u10e7\U000118dc"
    ),
    "z": "\u1d22\uab93\U000118c4",
}
_FOLD: Final = str.maketrans({**{one: sign for sign, many in _ALIKE.items() for one in many}, **_DASHES})


def as_read(text: str) -> str:
    r"""Give a text without entities, escapes, look-alike letters and hidden characters; its length may differ.

    >>> as_read("https&#58;\u2044\u2044\u0435vil&period;test")
    'https://evil.test'
    """
    if "&" in text:
        text = without_entities(text)
        if "&" in text:  # `&amp;#58;` is one more step away; a page that shows it is read by a model all the same
            text = without_entities(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _WIDE_DOT.sub(".", without_hidden(text))).translate(_FOLD)
    return _ESCAPE.sub("", text)


def without_entities(text: str) -> str:
    """Resolve the entities of a text once, whatever numbers they have."""
    return unescape(_NUMBERED.sub(_short_number, text))


def _short_number(reference: re.Match[str]) -> str:
    """Leave out leading zeros, and numbers that no character has: Python reads only numbers of some length."""
    kept = reference["digits"]
    return f"&#{kept}" if len(kept) <= _MOST_DIGITS else "\ufffd"
