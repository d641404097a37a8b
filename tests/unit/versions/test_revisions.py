"""What differs between two revisions, as real git has them."""

from pathlib import Path

import pytest

from skillopt.errors import RepositoryError
from skillopt.tasks import File
from skillopt.versions.revisions import write_files


@pytest.mark.parametrize("path", ["../out", "/out", "a/../../out", "."])
def test_a_path_that_leads_out_is_never_written(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    with pytest.raises(RepositoryError, match="plain path"):
        write_files([File(path, b"x")], inside)
    assert not inside.exists()
    assert not (tmp_path / "out").exists()
