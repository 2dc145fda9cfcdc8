"""Looking ahead and aside: the same story with one thing changed, the next step before it is taken."""
