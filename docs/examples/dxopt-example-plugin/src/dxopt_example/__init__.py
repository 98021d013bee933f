"""Plug-ins for dxopt: a small one of each kind."""
