"""The commands on the tasks of a skill: their options and their texts."""
