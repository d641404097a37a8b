"""Task suites that can be generated or fetched."""
