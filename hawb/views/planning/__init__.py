"""Reports on the answers of `hawb.planning`: stops, upgrades, migrations, changes, the worst case and the linter."""
