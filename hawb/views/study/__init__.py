"""Reports on studies and audits: text, tables and figures."""
