"""The story of an outcome: events in sentences and over time, their causes, and reports. Start with `telling`."""
