"""How fast hawb is: `make bench`. Figures are medians over several rounds with their spread; no test asserts any of
them."""
