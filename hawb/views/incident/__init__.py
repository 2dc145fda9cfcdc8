"""Reports on an incident, reconstructed from a cluster's logs: text, pictures, pages and JSON."""
