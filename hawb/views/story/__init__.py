"""What happened until then and why, in sentences and over time, and reports of all of it."""
