"""Executors: how independent calls run at the same time. One file per driver."""
