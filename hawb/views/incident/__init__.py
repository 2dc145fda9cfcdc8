"""What a cluster's logs came to, as text and as plain values."""
