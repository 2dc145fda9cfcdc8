"""Reports, commands, tables and figures, made from policies, outcomes and traces. No state is kept."""
