"""What a person reads: commands, tables and figures made from policies, outcomes and traces. No state is kept."""
