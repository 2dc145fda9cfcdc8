"""Connections, publishers and consumers: publish, confirm, deliver, acknowledge, time out.

Start with `publishing` and `consuming`. Clients that publish or consume at a rate are in `steady`.
"""
