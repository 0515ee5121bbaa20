"""How results are shown: tables, bars, JSON and YAML."""
