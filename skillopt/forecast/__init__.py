"""What a run of the training loop would take and show, from simulated runs of the same suite.

The loop is the real one; only target and optimizer model are simulated. Nothing here asks a model or reads a file.
"""
