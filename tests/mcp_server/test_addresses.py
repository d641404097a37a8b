from hypothesis import given
from hypothesis import strategies as st

from skillopt_mcp.catalogue import read_address, skill_address

NAMES = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8})?", fullmatch=True)
VERSIONS = st.none() | st.from_regex(r"[0-9a-f]{7,40}", fullmatch=True)
PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(NAMES, PATHS, VERSIONS)
def test_what_is_written_is_read_back(name: str, path: str, version: str | None) -> None:
    address = skill_address(name, path, version)

    assert read_address(str(address)) == address
    assert str(address).isascii()


@given(st.text(max_size=60))
def test_any_text_is_read_without_failing(text: str) -> None:
    read_address(text)
    read_address(f"skill://rows/{text}")
