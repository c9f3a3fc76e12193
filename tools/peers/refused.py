class Refused(Exception):
    """A peer that cannot run what is asked, with the reason."""
