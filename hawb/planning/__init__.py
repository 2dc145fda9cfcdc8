"""Looking ahead and aside: a story with one thing changed, the next step before it is taken, policies judged."""
