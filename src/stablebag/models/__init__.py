"""From rows and bags to one averaged model."""
