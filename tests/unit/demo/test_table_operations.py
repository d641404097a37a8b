"""Operations change what they are for, leave the rest alone, and never fail."""

import pytest
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


def change(kind: OperationKind, cell: str, *, header: str = "amount", value: str = "") -> str:
    table = DemoTable((header, "other"), ((cell, "Anna Berg"),))
    after = apply_operations(table, [Operation(kind, value=value)])
    assert after.rows[0][1] == "Anna Berg"
    return after.rows[0][0]


@pytest.mark.parametrize(
    ("order", "written", "expected"),
    [
        ("day", "05/03/2024", "2024-03-05"),
        ("month", "05/03/2024", "2024-05-03"),
        ("", "05/03/2024", "05/03/2024"),
        ("", "25/03/2024", "2024-03-25"),
        ("month", "25/03/2024", "2024-03-25"),
        ("day", "5.3.24", "2024-03-05"),
        ("day", "5 Mar 2024", "2024-03-05"),
        ("day", "Mar 5, 2024", "2024-03-05"),
        ("day", "5-Mar-24", "2024-03-05"),
        ("day", "2024/3/5", "2024-03-05"),
        ("day", "31/02/2024", "31/02/2024"),
        ("day", "soon", "soon"),
    ],
)
def test_dates_become_iso_by_the_order_that_was_asked_for(order: str, written: str, expected: str) -> None:
    assert change(K.ISO_DATES, written, value=order) == expected


@pytest.mark.parametrize(
    ("kind", "header", "value", "written", "expected"),
    [
        (K.TRIM, "item", "", "  Steel   bolt ", "Steel bolt"),
        (K.MISSING_TO_EMPTY, "item", "", "N/A", ""),
        (K.DECIMAL_COMMA, "amount", "", "1.234,50", "1234.50"),
        (K.DECIMAL_COMMA, "amount", "", "1,234.50", "1,234.50"),
        (K.THOUSANDS, "amount", "", "1,234.50", "1234.50"),
        (K.THOUSANDS, "amount", "", "1'234", "1234"),
        (K.CURRENCY_STRIP, "amount", "", "€12.50", "12.50"),
        (K.CURRENCY_STRIP, "amount", "", "12.50 EUR", "12.50"),
        (K.CURRENCY_STRIP, "amount", "", "-€12.50", "-12.50"),
        (K.CURRENCY_CODE, "currency", "", "eur", "EUR"),
        (K.CURRENCY_CODE, "currency", "", "$", "USD"),
        (K.PARENTHESES, "amount", "", "(12.50)", "-12.50"),
        (K.TRAILING_MINUS, "amount", "", "12.50-", "-12.50"),
        (K.PERCENT, "discount", "fraction", "7,5 %", "0.075"),
        (K.PERCENT, "discount", "strip", "19%", "19"),
        (K.CONVERT_UNIT, "weight_kg", "kg", "10 lb", "4.54"),
        (K.CONVERT_UNIT, "length_cm", "cm", "10 in", "25.40"),
        (K.CONVERT_UNIT, "length_cm", "kg", "10 in", "10 in"),
        (K.TWO_DECIMALS, "amount", "", "12.5", "12.50"),
        (K.TWO_DECIMALS, "quantity", "", "12", "12"),
        (K.ROUND_NUMBERS, "amount", "", "12.60", "13"),
        (K.REMOVE_SEPARATORS, "amount", "", "12.50", "1250"),
        (K.EMAIL_LOWER, "email", "", "ANNA@X.EXAMPLE", "anna@x.example"),
        (K.PHONE, "phone", "49", "0151 234 5678", "+491512345678"),
        (K.PHONE, "phone", "49", "0044-20-7946000", "+44207946000"),
        (K.PHONE, "phone", "49", "+49 (0)30 123456", "+4930123456"),
        (K.PHONE, "phone", "", "0151 234 5678", "0151 234 5678"),
        (K.COUNTRY_CODE, "country", "", "Germany", "DE"),
        (K.COUNTRY_CODE, "country", "", "uk", "GB"),
        (K.ID_UPPER, "order_id", "", "ord-7", "ORD-7"),
        (K.ID_PAD, "order_id", "4", "ORD-7", "ORD-0007"),
        (K.BOOLEANS, "paid", "", "Y", "true"),
        (K.BOOLEANS, "paid", "", "0", "false"),
        (K.FILL_ZERO, "amount", "", "", "0"),
    ],
)
def test_a_cell_operation_changes_what_it_is_for(
    kind: OperationKind, header: str, value: str, written: str, expected: str
) -> None:
    assert change(kind, written, header=header, value=value) == expected


@pytest.mark.parametrize(
    ("operation", "rows", "expected"),
    [
        (Operation(K.DROP_EMPTY_ROWS), [("A-1", "x"), ("", ""), ("A-2", "")], [("A-1", "x"), ("A-2", "")]),
        (Operation(K.DROP_INCOMPLETE_ROWS), [("A-1", "x"), ("A-2", "")], [("A-1", "x")]),
        (Operation(K.DROP_TOTALS), [("A-1", "x"), ("Subtotal", "9"), ("Total", "9")], [("A-1", "x")]),
        (Operation(K.DROP_FOOTERS), [("A-1", "x"), ("Note: net prices", "")], [("A-1", "x")]),
        (Operation(K.FILL_DOWN), [("A", "x"), ("", ""), ("", "y")], [("A", "x"), ("", ""), ("A", "y")]),
        (Operation(K.FILL_ALL_DOWN), [("A", "x"), ("B", "")], [("A", "x"), ("B", "x")]),
        (Operation(K.DROP_DUPLICATES), [("A", "x"), ("B", "y"), ("A", "x")], [("A", "x"), ("B", "y")]),
        (Operation(K.KEEP_FIRST), [("A", "2023"), ("A", "2024")], [("A", "2023")]),
        (Operation(K.KEEP_LATEST), [("A", "2023"), ("A", "2024"), ("B", "2020")], [("A", "2024"), ("B", "2020")]),
        (Operation(K.SORT), [("B", "1"), ("A", "2")], [("A", "2"), ("B", "1")]),
        (Operation(K.SORT, value="descending date"), [("A", "1"), ("B", "2")], [("B", "2"), ("A", "1")]),
    ],
)
def test_a_row_operation_keeps_the_right_rows(
    operation: Operation, rows: list[tuple[str, str]], expected: list[tuple[str, str]]
) -> None:
    table = DemoTable(("id", "updated_on"), tuple(rows))

    assert apply_operations(table, [operation]).rows == tuple(expected)


def test_a_currency_code_moves_into_a_new_column_beside_the_amount() -> None:
    table = DemoTable(("id", "amount", "paid"), (("A", "EUR 12.50", "true"), ("B", "3.00", "false")))

    after = apply_operations(table, [Operation(K.CURRENCY_SPLIT)])

    assert after == DemoTable(
        ("id", "amount", "currency", "paid"), (("A", "12.50", "EUR", "true"), ("B", "3.00", "", "false"))
    )


def test_headers_are_renamed_and_empty_columns_dropped() -> None:
    table = DemoTable(("Order ID", "Qty", "", "note"), (("A", "1", "", ""),))
    operations = [
        Operation(K.SNAKE_HEADER),
        Operation(K.RENAME_COLUMNS, pairs=(("qty", "quantity"),)),
        Operation(K.DROP_EMPTY_COLUMNS),
    ]

    assert apply_operations(table, operations) == DemoTable(("order_id", "quantity", "note"), (("A", "1", ""),))


def test_an_operation_limited_to_a_column_leaves_the_others() -> None:
    table = DemoTable(("name", "city"), (("anna", "bonn"),))

    assert apply_operations(table, [Operation(K.UPPER_ALL, ("city",))]).rows == (("anna", "BONN"),)


def test_the_later_of_two_contradicting_operations_wins() -> None:
    day, month = Operation(K.ISO_DATES, value="day"), Operation(K.ISO_DATES, value="month")

    assert settle([(day, True), (month, True)]) == (month,)
    assert settle([(Operation(K.KEEP_LATEST), True), (Operation(K.KEEP_FIRST), True)]) == (Operation(K.KEEP_FIRST),)


def test_a_guess_never_beats_a_clear_sentence() -> None:
    clear, guess = Operation(K.ISO_DATES, value="day"), Operation(K.ISO_DATES, value="month")

    assert settle([(clear, True), (guess, False)]) == (clear,)
    assert settle([(guess, False), (clear, True)]) == (clear,)


def test_a_forbidden_operation_is_not_done() -> None:
    assert settle([(Operation(K.SORT), True), (Operation(K.SORT, off=True), True)]) == ()


@given(TABLES, st.lists(OPERATIONS, max_size=6))
def test_any_operations_on_any_table_give_a_table_of_one_width(table: DemoTable, operations: list[Operation]) -> None:
    after = apply_operations(table, settle((operation, True) for operation in operations))

    assert {len(row) for row in after.rows} <= {len(after.header)}


@given(TABLES.filter(lambda table: any(table.header)))
def test_a_written_table_reads_back_the_same(table: DemoTable) -> None:
    assert DemoTable.parse(table.render()) == table
