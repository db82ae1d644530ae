"""``python -m entropic`` is the command ``entropic``."""

import sys

from .cli import main

sys.exit(main())
