"""Facts as phrases for people: units, digits, and the sentences of results, published files and reports."""
