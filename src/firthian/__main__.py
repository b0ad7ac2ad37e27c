"""``python -m firthian`` is ``firth``."""

from __future__ import annotations

import sys

from firthian.cli.app import main

sys.exit(main())
