"""The benchmark: strongroom beside its floor and beside what people use today, as ratios."""
