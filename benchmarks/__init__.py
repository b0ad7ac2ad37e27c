"""Speed, memory and quality beside other tools, in one run. ``make bench`` runs all; see README.md here."""
