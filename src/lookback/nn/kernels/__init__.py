"""Backward passes that are written out, for speed: the same equations as autograd's."""
