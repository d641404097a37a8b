"""A search for settings that make training gain more."""
