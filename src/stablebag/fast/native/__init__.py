"""The compiled library: plain C, called through ctypes."""
