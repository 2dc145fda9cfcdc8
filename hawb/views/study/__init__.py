"""What studies and audits come to, as text, tables and figures."""
