"""Privacy budgets of persons or devices, kept in one file on disk."""

from dxopt.release.budgets.accounts import Account, Payment, Totals
from dxopt.release.budgets.budgets import Budgets
from dxopt.release.budgets.charges import Purse

__all__ = ["Account", "Budgets", "Payment", "Purse", "Totals"]
