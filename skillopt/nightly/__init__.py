"""Nights over many skills: which ones are due, and what becomes of their pull requests.

The service that holds the pull requests is in forge.
"""
