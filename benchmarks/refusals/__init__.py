"""Pairs of rules, and how many of them the product takes for the same in other words."""
