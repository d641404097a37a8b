"""Programs that run what others published, in a process of its own. Nothing of theirs lies here."""
