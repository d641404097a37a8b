"""What a shorter text would do: what clients list of a library, and which lines a skill does without."""
