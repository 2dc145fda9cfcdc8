"""What all types of queues have in common: declare and delete, policies, contents, limits, expiry, dead letters.

Start with `lifecycle`, which declares and deletes, then `contents`.
"""
