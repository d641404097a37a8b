"""Reports of a run, one file per format. All numbers come from recorded events."""
