"""Find markup that means something to a model and nothing to a page: control tokens of chats, tags of prompts."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_prompt_markup"]

_CHAT_TOKEN: Final = re.compile(
    r"<\|[^|<>\n]{1,60}\|>|<\uff5c[^<>\n]{1,60}\uff5c>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|<(?:bos"
    r"|eos|unk|pad)>"
    r"|<\|?(?:im_start|im_end|endoftext|eot_id|start_header_id|end_header_id|begin_of_text)\|?>?|</s>",
    re.IGNORECASE,
)
_PROMPT_TAG: Final = re.compile(
    r"</?(?:system|system[-_]?(?:reminder|prompt|message|instructions?|note)|important|extremely[-_]important|critical"
    r"|priority|admin|administrator|override|developer|assistant|human|user[-_]?(?:message|query|prompt)"
    r"|tool[-_]?(?:call|use"
    r"|result|response)s?|function[-_]?(?:call|result)s?|invoke|antml|thinking|secret|hidden|policy|root|sudo"
    r"|instruction|\w{1,20}[-_](?:hidden|secret|override))"
    r"(?:[\s:][^<>\n]{0,200})?>"
    r"|\A[ \t>*_#-]{0,12}(?:human|system|developer|assistant)[ \t]?(?:prompt|message|override|note|instruction)?"
    r"[*_]{0,3}[ \t]?:[*_]{0,3}[ \t]+\S",
    re.IGNORECASE,
)


def find_prompt_markup(line: str) -> Iterator[TextMatch]:
    """Find control tokens, which are refused, and tags of prompts, which a person must look at, in code or not.

    >>> [found.kind.value for found in find_prompt_markup("<|im_start|><important>")]
    ['hidden-text', 'raw-html']

    Args:
        line: A line as a reader takes it.
    """
    for match in _CHAT_TOKEN.finditer(line):
        yield TextMatch(LintClass.HIDDEN_TEXT, match[0], 0, match[0], "a control token of chats")
    for match in _PROMPT_TAG.finditer(line):
        yield TextMatch(LintClass.RAW_HTML, match[0].lower(), 0, match[0], "a tag of prompts")
