"""The paper's own constructions and experiments: Soloff, Barber and Willett (2024), JMLR 25(131)."""
