"""Speed, memory and quality beside other tools, in one run. ``make bench`` runs all; see README.md here."""

from tools.local_data import use_local_data

use_local_data()
