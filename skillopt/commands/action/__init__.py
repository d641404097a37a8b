"""The GitHub Action: each of its steps that runs Python, from the inputs of the step to its outputs and annotations."""
