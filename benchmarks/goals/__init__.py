"""What learning must reach in worlds like users' suites, with settings as shipped, cell by cell."""
