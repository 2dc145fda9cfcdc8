"""The scenario contract: a file of steps on a cluster, loaded or refused, run, and compared with what it expects."""
