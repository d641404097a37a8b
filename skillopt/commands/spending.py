"""The question before a command spends money for the first time."""

import sys
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from skillopt.actions.spending import Payment

__all__ = ["DECLINED", "ask_to_pay", "can_ask"]

DECLINED: Final = 130
"""As after Ctrl-C: the user ended it."""


def can_ask() -> bool:
    """Return whether somebody sits at a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_to_pay(payment: "Payment", what: str, *, yes: bool) -> None:
    """Ask on a terminal before money is spent for the first time; elsewhere a command that is paid for needs a cap."""
    from skillopt.errors import UsageError

    if yes or not payment.paid:
        return
    if can_ask():
        if not payment.first:
            return
        typer.echo(f"this is paid for: {what}", err=True)
        if not typer.confirm("go on?", err=True):
            typer.echo("nothing was spent", err=True)
            raise typer.Exit(DECLINED)
    elif not payment.capped:
        message = f"expected a cap for a command that is paid for ({what}), found none, and no terminal to ask"
        raise UsageError(f"{message}; add --max-usd or --max-rollouts, or --yes to spend without a cap")
