"""``python -m entropic`` is the command ``entropic``."""

import sys

from .command.main import main

sys.exit(main())
