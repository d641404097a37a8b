"""What text may carry, and showing text that nobody vouches for: lint, leaks, hidden Unicode, credentials, escaping.

Where programs run apart from the user's files is in sandbox.
"""
