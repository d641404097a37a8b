"""Operations change what they are for, leave the rest alone, and never fail."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.demo.table_operations import apply_operations, settle
from benchmarks.demo.tables import DemoTable, Operation, OperationKind

K = OperationKind

HEADERS = st.sampled_from(
    ["order_id", "Order Date", "unit_price", "currency", "phone", "country", "paid", "", "Unnamed: 2", "qty", "amount"]
)
CELLS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", " ", "05/03/2024", "5 Mar 24", "31.02.2024", "1.234,50", "(€12)", "12-", "7,5 %", "Y", "0", "N/A", "Total"]
    ),
    st.sampled_from(
        ["EUR 3", "12.5 lb", "-0.00", "0049 30 1", "ord-7", "A@B.C", "Note: x", "99999999999999999999", "³"]
    ),
)
TABLES = st.lists(HEADERS, min_size=1, max_size=6).flatmap(
    lambda header: st.lists(st.lists(CELLS, max_size=len(header)), max_size=6).map(
        lambda rows: DemoTable.of([header, *rows])
    )
)
VALUES = st.sampled_from(["", "day", "month", "strip", "49", "kg", "cm", "descending date", "4"])
SIZES = {K.ID_PAD: st.just("4")}
OPERATIONS = st.sampled_from(OperationKind).flatmap(
    lambda kind: st.builds(
        Operation,
        st.just(kind),
        st.sampled_from([(), ("amount",), ("order_id", "phone")]),
        SIZES.get(kind, VALUES),
        st.just((("qty", "quantity"),)),
    )
)


def test_the_later_of_two_contradicting_operations_wins() -> None:
    day, month = Operation(K.ISO_DATES, value="day"), Operation(K.ISO_DATES, value="month")

    assert settle([(day, True), (month, True)]) == (month,)
    assert settle([(Operation(K.KEEP_LATEST), True), (Operation(K.KEEP_FIRST), True)]) == (Operation(K.KEEP_FIRST),)


def test_a_guess_never_beats_a_clear_sentence() -> None:
    clear, guess = Operation(K.ISO_DATES, value="day"), Operation(K.ISO_DATES, value="month")

    assert settle([(clear, True), (guess, False)]) == (clear,)
    assert settle([(guess, False), (clear, True)]) == (clear,)


@given(TABLES, st.lists(OPERATIONS, max_size=6))
def test_any_operations_on_any_table_give_a_table_of_one_width(table: DemoTable, operations: list[Operation]) -> None:
    after = apply_operations(table, settle((operation, True) for operation in operations))

    assert {len(row) for row in after.rows} <= {len(after.header)}


@given(TABLES.filter(lambda table: any(table.header)))
def test_a_written_table_reads_back_the_same(table: DemoTable) -> None:
    assert DemoTable.parse(table.render()) == table
