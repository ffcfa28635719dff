"""The laws of bags, and what is drawn from them."""
