"""The compiled library: C without Python's interface, called through ctypes."""
