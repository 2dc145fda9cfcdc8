"""The day after: a cluster's own logs read back.

`rules` is the table of what RabbitMQ says and what it means, `events` what comes of it; `reading` goes from files to
events in the order of time, by way of `files`, `wrappings`, `entries`, `recogniser`, `templates` and `clocks`.
"""
