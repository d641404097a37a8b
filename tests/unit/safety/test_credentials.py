"""Shapes of credentials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.safety.credentials import find_credentials, mask


@pytest.mark.parametrize(
    "text",
    [
        *("password = 'Xk29dLmq83hfPz'", '"api_key": "f3a9c81be77d0421"'),
        *("export SECRET_TOKEN=f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "client-secret => 8Q~abc9Kd83jsk2"),
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA",
        *("- password: Xk29Xk29", "The password is Xk29.!", "Log in with the password f3a9-horse-battery."),
    ],
)
def test_assigned_secrets_and_private_keys_are_masked_whole(text: str) -> None:
    assert not any(part in mask(text) for part in ("Xk29", "f3a9", "f81d", "8Q~", "MIIE", "b3Bl", "0421", "6bf6"))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "password: <your-password>",
            "token=${GITHUB_TOKEN}",
            "api_key: xxxxxxxxxxxxxxxx",
            "secret: see-the-vault-page",
        ),
        *(
            "password: required",
            "The password is 8 to 12 signs.",
            "Pass `password=os.environ['X1']`.",
            "password field",
        ),
    ],
)
def test_placeholders_are_no_credentials(text: str) -> None:
    assert list(find_credentials(text)) == []


def test_kinds_and_places_are_told() -> None:
    text = "first AKIAABCDEFGHIJKLMNOP, then token: ghp_aB3aB3aB3aB3aB3aB3aB3aB3 end"

    found = [(credential.kind, text[credential.start : credential.end]) for credential in find_credentials(text)]

    key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"
    assert mask(f"{key} and {key}.") == "[private key] and [private key]."
    assert found == [("AWS access key", "AKIAABCDEFGHIJKLMNOP"), ("GitHub token", "ghp_aB3aB3aB3aB3aB3aB3aB3aB3")]


@given(st.text(alphabet=st.sampled_from("aB3 -_.:=/@\n"), max_size=200))
def test_masking_twice_is_masking_once_and_leaves_the_rest_alone(text: str) -> None:
    masked = mask(text)

    assert mask(masked) == masked
    assert (masked == text) == (not list(find_credentials(text)))
