"""What `hawb.planning` answers: of stops, upgrades, moves, changes, the worst case and the linter."""
