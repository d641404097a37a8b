"""Messy vendor tables and their house format, generated from a seed."""
