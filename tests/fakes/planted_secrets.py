"""Secrets and personal data of every known shape, none of them real, made of parts so that no scanner stops a push."""

import random
import string
from typing import Final

_DRAW: Final = random.Random(16)
_LETTERS: Final = string.ascii_letters + string.digits
_LOWER: Final = string.ascii_lowercase + string.digits
_UPPER: Final = string.ascii_uppercase + string.digits


def _some(length: int, signs: str = _LETTERS) -> str:
    """Draw signs, with a digit among them as a real one nearly always has."""
    return "".join(_DRAW.choices(signs, k=length - 1)) + _DRAW.choice([sign for sign in signs if sign.isdigit()])


def _hex(length: int) -> str:
    return _some(length, string.hexdigits.lower()[:16])


SECRETS: Final = {
    "AWS access key": "AK" + "IA" + _some(16, _UPPER),
    "AWS temporary key": "AS" + "IA" + _some(16, _UPPER),
    "AWS secret key": _some(40, _LETTERS + "+/"),
    "GitHub classic": "gh" + "p_" + _some(36),
    "GitHub app": "gh" + "s_" + _some(36),
    "GitHub fine-grained": "github" + "_pat_" + _some(22) + "_" + _some(59),
    "GitLab": "gl" + "pat-" + _some(20),
    "Anthropic": "sk-" + "ant-api03-" + _some(93),
    "OpenAI": "sk-" + _some(48),
    "OpenAI project": "sk-" + "proj-" + _some(64),
    "Slack bot": "xo" + "xb-" + "123456789012-123456789012-" + _some(24),
    "Slack webhook": f"https://hooks.{'slack'}.com/services/T{_some(8, _UPPER)}/B{_some(8, _UPPER)}/{_some(24)}",
    "Google": "AI" + "za" + _some(35),
    "Google OAuth": "ya" + "29." + _some(60),
    "Google client": "GO" + "CSPX-" + _some(28),
    "Stripe": "sk" + "_live_" + _some(24),
    "Stripe webhook": "wh" + "sec_" + _some(32),
    "npm": "np" + "m_" + _some(36),
    "PyPI": "py" + "pi-AgEIcHlwaS5vcmc" + _some(70),
    "SendGrid": "SG" + "." + _some(22) + "." + _some(43),
    "Hugging Face": "hf" + "_" + _some(34),
    "Twilio account": "AC" + _hex(32),
    "Twilio key": "SK" + _hex(32),
    "Mailchimp": _hex(32) + "-us12",
    "Square": "sq0" + "csp-" + _some(43),
    "DigitalOcean": "dop" + "_v1_" + _hex(64),
    "Shopify": "shp" + "at_" + _hex(32),
    "Telegram": "110201543:AAH" + _some(32),
    "Discord": "MTk4NjIyNDgzNDcxOTI1MjQ4." + "Cl2FMQ." + _some(27),
    "JSON web token": "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + _some(43),
    "Databricks": "da" + "pi-" + _hex(32),
    "Vault": "hv" + "s." + _some(24),
    "Azure storage": _some(86, _LETTERS + "+/") + "==",
    "Artifactory": "AK" + "C" + _some(60),
    "hex key": _hex(32),
    "long hex key": _hex(64),
    "random key": _some(32),
    "private key": "MIIEowIBAAKCAQEA" + _some(48),
}
"""Name → secret, each found wherever it stands bare."""

PERSONAL: Final = {
    "e-mail": "ann.lee@" + "corp-of-ann.io",
    "e-mail with plus": "a.lee+shop@" + "mail.corp-of-ann.co.uk",
    "home": "/home/" + "annlee7",
    "home of macOS": "/Users/" + "annlee8",
    "home of Windows": "C:\\Users\\" + "annlee9",
    "telephone": "+49 30 " + "5557 1234",
    "telephone of the US": "(415) " + "555-0134",
    "plain telephone": "415-" + "555-0172",
    "card": "4242 4242 " + "4242 4242",
    "social security number": "078-" + "05-1120",
    "account": "DE89 3704 " + "0044 0532 0130 00",
    "address of a machine": "10.21." + "32.43",
    "public address": "203.0." + "113.77",
    "IPv6": "2001:db8:" + "85a3::8a2e:370:7334",
    "MAC": "00:1b:44:" + "11:3a:b7",
    "inner host": "billing-db." + "prod.internal",
    "host": "vault.corp-of-ann." + "io",
    "git address": "git@" + "git.corp-of-ann.io:shop/secret-plan.git",
}
"""Name → personal data, or what tells of the inside of a company."""
