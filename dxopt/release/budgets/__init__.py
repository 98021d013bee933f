"""Privacy budgets of persons or devices, kept in one file on disk."""

from dxopt.release.budgets.accounts import Account, Payment, Totals
from dxopt.release.budgets.budgets import Budgets
from dxopt.release.budgets.periods import PerPeriod
from dxopt.release.budgets.purse import Purse

__all__ = ["Account", "Budgets", "Payment", "PerPeriod", "Purse", "Totals"]
