"""NumPy's namespace with tally's functions, for the array API's test suite (github.com/data-apis/array-api-tests). In its
checkout, with the package and this folder in PYTHONPATH:

    ARRAY_API_TESTS_MODULE=tally_numpy python -m pytest array_api_tests --max-examples 500 -k "sum or prod or min or max or
        mean or var or std or any or all or count_nonzero"

Complex numbers, which tally does not have and the suite cannot leave out, go to NumPy."""
import functools

import numpy
from numpy import *  # noqa: F403
from numpy import bool, e, inf, nan, newaxis, pi  # noqa: F401

import tally

__array_namespace_info__ = numpy.__array_namespace_info__


def _of_tally(name):
    @functools.wraps(getattr(tally, name))
    def function(x, *arguments, **options):
        is_complex = "c" in (x.dtype.kind, numpy.dtype(options.get("dtype") or x.dtype).kind)
        return getattr(numpy if is_complex else tally, name)(x, *arguments, **options)
    return function


for _name in ("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "cumulative_sum", "cumulative_prod", "all",
              "any", "count_nonzero"):
    globals()[_name] = _of_tally(_name)
