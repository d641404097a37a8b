"""Find sentences that ask for what a command would do: to send work elsewhere, to run what was fetched."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.lazy_patterns import LazyPattern
from skillopt.safety.sentences import match_orders
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_transfers"]

_GAP: Final = r"[^.!?;\n]{0,60}?"
_SEND: Final = (
    r"(?:upload|post|send|forward|e-?mail|mail|transmit|ship|submit|publish|mirror|sync|beam|deliver|relay|stream"
    r"|push|leak"
    r"|exfiltrate|copy|report|hand over|pass on|back up|replicate|dump|drop|move|transfer|share)(?:ing|s)?"
)
_WORK: Final = (
    r"(?:files?|tables?|rows?|inputs?|outputs?|results?|data|cop(?:y|ies)|contents?|it|them|lines?|everything"
    r"|columns?|records?"
    r"|transcripts?|conversations?|prompts?|source(?: code)?|code|logs?|workspace|folder|documents?|answers?|names?"
    r"|values?"
    r"|numbers?|history|repository|what (?:you|the user|it) \w{1,10})"
)
_ELSEWHERE: Final = (
    r"(?:paste ?bins?|web ?hooks?|end ?points?|(?:mirror|remote|external|outside|other|collection|staging|our|their"
    r"|its)"
    r" (?:\w{1,12} )?(?:servers?|hosts?|machines?|box(?:es)?|addresse?s?|locations?|sites?|systems?|services?)"
    r"|mirrors?|servers?"
    r"|(?:e-?mail |mail )?address(?:es)?|inbox(?:es)?|mailbox(?:es)?|collectors?|telemetry|third part(?:y|ies)"
    r"|outsiders?"
    r"|(?:cloud|public|shared|remote|network) (?:drives?|buckets?|folders?|storage|shares?|gists?|pages?)|ftp|gists?"
    r"|(?:internet|web)\b|partners?|vendors?|analytics|drop ?box|call ?backs?|attacker|us\b|me\b)"
)
_GET: Final = r"(?:download|fetch|get|pull|retrieve|load|obtain|grab|receive|look up|read)(?:ing|s)?"
_ALTERNATIVES: Final = (
    rf"\b{_SEND}\b{_GAP}\b{_WORK}\b{_GAP}\b(?:to|on|onto|at|through|via|into|with)\b[^.!?;\n]{{0,25}}?\b{_ELSEWHERE}\b",
    (
        rf"\b{_SEND}\b (?:\w{{1,12}} ){{0,3}}?(?:to|via|through) (?:the |a |an |our |their |its )(?:\w{{1,12}}"
        rf" )?{_ELSEWHERE}\b"
    ),
    (
        rf"\b(?:post|e-?mail|message|notify|ping|call|contact|inform)\b (?:the |our |a )(?:web ?hook|endpoint|server"
        rf"|mirror|collector)\b"
        rf"{_GAP}\b{_WORK}\b"
    ),
    (
        rf"\b{_GET}\b{_GAP}\b(?:latest|newest|current|remote|updated?|shared|online|hosted|external|newer|most"
        rf" recent)\b{_GAP}"
        r"\b(?:and|then|to)\b (?:\w{1,10} )?(?:run|execute|follow|obey|start|eval\w{0,4}|source|do what|apply|act on"
        r"|install|use)\b"
    ),
    (
        rf"\b(?:download|fetch|retrieve|pull)(?:ing)?\b{_GAP}\b(?:scripts?|programs?|binar(?:y|ies)|installers?"
        rf"|helpers?"
        rf"|tools?|"
        r"instructions?|rules|commands?|payloads?|patch(?:es)?)\b[^.!?;\n]{0,40}?\b(?:and|then|to)\b (?:\w{1,10} )?"
        r"(?:run"
        r"|execute|follow"
        r"|obey|start|eval\w{0,4}|source|do what|act on|install)\b"
    ),
    (
        rf"\b(?:run|execute|follow|obey|apply)\b{_GAP}\b(?:instructions?|scripts?|commands?|rules|code"
        rf"|steps)\b[^.!?;\n]{{0,30}}?"
        r"\b(?:from|found (?:on|at|in)|served by|hosted (?:on|at)|returned by|received from)\b (?:the |a |an |our "
        r"|its )?"
        r"(?:\w{1,12} )?"
        r"(?:web|internet|server|site|page|url|endpoint|channel|wiki|mirror|issue|comment|response|e-?mail)\b"
    ),
    (
        rf"\binstall\b{_GAP}\bfrom\b (?:the |a |an |our )?(?:\w{{1,12}} )?(?:index|registry|registries|internet|web"
        rf"|mirror|server|site|fork"
        r"|gist|tarball|archive)\b"
    ),
    (
        r"\b(?:reverse|bind|remote|web) ?shells?\b|\bback ?doors?\b|\bkey ?loggers?\b|\brootkits?\b"
        r"|\bexfiltrat\w{1,5}\b"
        r"|\bcrypto ?miners?\b|\bcommand[- ]and[- ]control\b|\bport[- ]?forward\w{0,3}\b|\b(?:open|start|create|set"
        r" up) "
        r"(?:a |an )?"
        r"(?:\w{1,10} )?tunnels?\b|\bbeacons? (?:to|home|out)\b|\bphone home\b"
    ),
)
_TRANSFER: Final = LazyPattern("|".join(_ALTERNATIVES), re.IGNORECASE)


def find_transfers(paragraph: str) -> Iterator[TextMatch]:
    """Find the first order of each sentence of a paragraph that moves data or code over a network; a ban is none.

    >>> [found.text for found in find_transfers("Never upload rows. Then post the rows to the webhook of the team.")]
    ['post the rows to the webhook of the team.']

    Args:
        paragraph: Its lines joined by spaces, as a reader takes them.
    """
    return match_orders(_TRANSFER, paragraph, LintClass.NETWORK_COMMAND, "an order to reach the network")
