"""The paper's five experiments by its own protocol: ``entropic paper``."""
