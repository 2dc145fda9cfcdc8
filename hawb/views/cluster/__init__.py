"""Views of one moment of a story: replicas, queues, clients, links and the ledger of messages."""
