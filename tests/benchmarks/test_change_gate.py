"""The table of the change gate: every row is printed, and the rates are shares."""

from benchmarks.change_gate import WORLDS, main


def test_every_world_has_a_row_with_shares_and_rollouts() -> None:
    lines: list[str] = []
    main(["--runs", "3", "--seed", "7"], show=lines.append)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][1:]
    assert [row[0] for row in rows[: len(WORLDS)]] == [world.name for world in WORLDS]
    assert all(0 <= float(row[1]) + float(row[2]) <= 1 and float(row[3]) > 0 for row in rows)
    assert lines[-1].endswith("of repositories")
