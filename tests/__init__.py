"""The tests: `unit/` mirrors the packages, `contracts/` says what each driver of a port must do, `fakes/` stands in."""
