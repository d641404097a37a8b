"""Mask personal data by its shape: addresses of people and machines, home folders, telephone and card numbers."""

import re
from ipaddress import IPv6Address
from typing import Final

_NAME: Final = r"[^/\\\s\"'`:,;<>()]{1,64}"
_SURNAME: Final = r"(?: [A-Z][^/\\\s\"'`:,;<>()]{1,40}(?=[/\\]))?"
_HOME: Final = re.compile(
    rf"(?:/mnt/[a-z])?(?:/home|/Users|/var/home)/{_NAME}{_SURNAME}"
    rf"|\b[A-Za-z]:\\{{1,2}}Users\\{{1,2}}{_NAME}{_SURNAME}"
    r"|(?<![\w/])~[a-z][\w.-]{1,31}(?=/)|(?<![\w/])-(?:home|Users)-[A-Za-z]\w{0,31}(?=-)"
)
_ROOT_HOME: Final = re.compile(r"(?<![\w./-])/root(?=/|\b)")
_EMAIL: Final = re.compile(
    r"[\w.+%-]{1,64}@(?!(?:[\w-]+\.)*example\.(?:com|org|net)\b)[^\W\d_][\w-]{0,62}(?:\.[\w-]{1,63}){0,8}(?::(?!\s)[^\s\"'`<>]{1,200})?"
)
_SPELT_EMAIL: Final = re.compile(
    r"[\w.+-]{1,64} ?[(\[{] ?at ?[)\]}] ?[\w-]{1,63}(?:(?: ?[(\[{] ?dot ?[)\]}] ?|\.)[\w-]{1,63}){1,8}", re.IGNORECASE
)
_PHONE: Final = re.compile(
    r"(?<![\w.+-])(?:\+\d{1,3}[ ().-]{0,2}\d(?:[ ().-]{0,2}\d){6,13}|\(\d{2,5}\)[ -]?\d{3,4}[ -]?\d{3,6}"
    r"|\d{3}[-. ]\d{3}[-. ]\d{4}|0\d{1,4}[ /-]\d{3,4}[ -]?\d{3,6}|0\d(?:[ .]\d\d){4})(?![\w-])"
)
_CARD: Final = re.compile(r"(?<![\w.-])\d{13,19}(?![\w-])")
_GROUPED_CARD: Final = re.compile(r"(?<![\w.-])\d{4}([ .-])(?:\d{4}\1\d{4}\1\d{1,4}|\d{6}\1\d{5})(?![\w-])")
_SOCIAL: Final = re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])|(?<=SSN )\d{9}\b|(?<=SSN: )\d{9}\b")
_IBAN: Final = re.compile(r"\b(?:[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?|[a-z]{2}\d{12,30})\b")
_IPV4: Final = re.compile(
    r"(?<![\w.])(?!127\.|0\.0\.0\.0)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]*\d)"
)
_IPV6: Final = re.compile(r"(?<![\w:.])(?=[a-fA-F:]{0,39}\d)[0-9a-fA-F]{0,4}:[0-9a-fA-F:]{1,38}(?:%\w{1,15})?(?!\w)")
_SLICE: Final = re.compile(r"::\d{1,4}")
"""The step of a slice, as programs write it, which is an address too."""

_MAC: Final = re.compile(r"(?<![\w:-])(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}(?![\w:-])")

_PUBLIC: Final = (
    r"localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1\]|(?:[\w-]+\.)*example(?:\.(?:com|org|net))?|(?:[\w-]+\.)*(?:test|invalid)"
    r"|(?:www\.|docs\.|api\.|raw\.)?(?:github|githubusercontent|gitlab|python|pypi|npmjs|mozilla|wikipedia|w3|ietf"
    r"|stackoverflow|json-schema|schema|keepachangelog|semver|agentskills)\.(?:com|org|net|io)"
)
_URL_HOST: Final = re.compile(
    rf"(?<=://)(?!(?:{_PUBLIC})(?=[:/?#\s\"'`<>)\],.]|\Z))[^\s/?#\"'`<>()\[\]]{{1,253}}", re.IGNORECASE
)
_INNER_HOST: Final = re.compile(
    r"(?<![\w.@/-])(?:[\w-]{1,63}\.){1,6}(?:internal|corp|intranet|local|lan|private|home\.arpa|cluster\.local|svc)(?![\w-])"
    r"|(?<![\w.@/-])(?:[\w-]{1,63}\.){2,6}(?:com|net|org|io|dev|cloud|de|uk|fr|eu|us|ai|co)(?![\w-])(?!\()",
    re.IGNORECASE,
)


def mask_personal_data(text: str) -> str:
    """Replace personal data by what it is.

    >>> mask_personal_data("Ann <ann@corp.io>, +49 30 1234567, /home/ann/x, 10.1.2.3")
    'Ann <[address]>, [number], ~/x, [host]'
    """
    text = _ROOT_HOME.sub("~", _HOME.sub("~", text))
    text = _IBAN.sub("[number]", _SPELT_EMAIL.sub("[address]", _EMAIL.sub("[address]", text)))
    text = _CARD.sub(_of_card, _GROUPED_CARD.sub("[number]", _SOCIAL.sub("[number]", text)))
    text = _MAC.sub("[host]", _IPV4.sub("[host]", _PHONE.sub("[number]", text)))
    return _IPV6.sub(_of_ipv6, text)


def mask_hosts(text: str) -> str:
    """Replace names of machines, but for public places that everybody knows.

    >>> mask_hosts("curl https://billing.corp.io/v1 and https://github.com/a and db1.prod.internal")
    'curl https://[host]/v1 and https://github.com/a and [host]'
    """
    return _INNER_HOST.sub("[host]", _URL_HOST.sub("[host]", text))


def _of_card(found: re.Match[str]) -> str:
    """Tell the number of a card from others by its check digit."""
    digits = [int(digit) for digit in found[0] if digit.isdigit()]
    doubled = (digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[-2::-2])  # noqa: PLR2004 - as the check is defined
    return found[0] if (sum(digits[-1::-2]) + sum(doubled)) % 10 else "[number]"


def _of_ipv6(found: re.Match[str]) -> str:
    """Tell an address from times, slices and other words with colons."""
    word = found[0]
    address = word if word.endswith("::") else word.removesuffix(":")
    beside = found.string[max(found.start() - 1, 0) : found.start()] + found.string[found.end() : found.end() + 1]
    if _SLICE.fullmatch(address) and (address != "::1" or set(beside) & set("[],")):
        return word
    try:
        IPv6Address(address)
    except ValueError:
        return word
    return f"[host]{word[len(address) :]}"
