#!/usr/bin/env python3
"""The version, here alone: the build reads it by running this file."""

__version__ = "0.1.0"

if __name__ == "__main__":
    print(__version__)
