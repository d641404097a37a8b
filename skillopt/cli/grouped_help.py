"""Help that lists commands under headings, the ones to start with first."""

from typer._click import Context, HelpFormatter  # Typer has its own Click, and names it nowhere else
from typer.core import TyperGroup

__all__ = ["GroupedHelp"]


class GroupedHelp(TyperGroup):
    """Lists each command under the heading that it was registered with (`rich_help_panel`), in plain text."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write a section for each heading, in the order in which headings come first."""
        commands = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        width = max(len(name) for name, _ in commands)
        headings = dict.fromkeys(getattr(command, "rich_help_panel", None) or "Commands" for _, command in commands)
        for heading in headings:
            rows = [
                (name.ljust(width), command.get_short_help_str(formatter.width - width - 6))
                for name, command in commands
                if (getattr(command, "rich_help_panel", None) or "Commands") == heading
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)
