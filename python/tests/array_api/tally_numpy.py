"""NumPy's namespace with tally's functions, for the array API's test suite (github.com/data-apis/array-api-tests). In its
checkout, with the package and this folder in PYTHONPATH, the tests of these functions and no others:

    ARRAY_API_TESTS_MODULE=tally_numpy python -m pytest -p tally_numpy array_api_tests --max-examples 500

Complex numbers, which tally does not have and the suite cannot leave out, go to NumPy."""
import functools
import re

import numpy
from numpy import *  # noqa: F403
from numpy import bool, e, inf, nan, newaxis, pi  # noqa: F401

import tally

FUNCTIONS = ("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "cumulative_sum", "cumulative_prod", "all", "any",
             "count_nonzero")
__array_namespace_info__ = numpy.__array_namespace_info__


def _of_tally(name):
    @functools.wraps(getattr(tally, name))
    def function(x, *arguments, **options):
        is_complex = "c" in (x.dtype.kind, numpy.dtype(options.get("dtype") or x.dtype).kind)
        return getattr(numpy if is_complex else tally, name)(x, *arguments, **options)
    return function


for _name in FUNCTIONS:
    globals()[_name] = _of_tally(_name)


def pytest_collection_modifyitems(config, items):
    """As pytest's plugin: a test is of a function if it is called test_NAME, or has NAME as its parameter."""
    of = re.compile(rf"(::test_|\[(\w+-)?)({'|'.join(FUNCTIONS)})\]?$")
    others = [item for item in items if not of.search(item.nodeid)]
    items[:] = [item for item in items if of.search(item.nodeid)]
    config.hook.pytest_deselected(items=others)
