"""The gate for changes that people make to a skill, and the inspection of rollouts; git is read in versions."""
