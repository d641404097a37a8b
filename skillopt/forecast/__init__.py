"""What a run of the training loop would take and show, from tables of simulated runs and from recorded costs.

Also starting jobs, which say so first. Nothing here asks a model.
"""
