"""What the commands on the tasks of a skill do: show, check, import, draft and accept them."""
