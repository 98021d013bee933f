"""Databases whose records are perturbed one by one, and how much error privacy costs at least (HLM14)."""

from dxopt.analysis.sanitisation.algebras import on_algebra
from dxopt.analysis.sanitisation.bounds import ErrorBounds, error_bounds, laplace_scale
from dxopt.analysis.sanitisation.product import ProductSanitisation, product_sanitisation

__all__ = [
    "ErrorBounds",
    "ProductSanitisation",
    "error_bounds",
    "laplace_scale",
    "on_algebra",
    "product_sanitisation",
]
