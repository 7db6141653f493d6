# make_print.py: what NumPy prints for arrays, for tests/core/print.cpp.
#
#   python tests/golden/make_print.py > tests/golden/print.txt
#
# One case is a line `dtype shape: values`, then NumPy's lines, each after "|".
import numpy as np

inf, nan = np.inf, np.nan
cases = [
    ("f32", [3], [1, 2, 3]), ("f32", [3], [1.5, -2.25, 100]), ("f32", [4], [0.1, 0.2, 1 / 3, -1e-3]),
    ("f32", [3], [1e-5, 1, 2]), ("f32", [3], [1e8, 1, 0]), ("f32", [3], [1e10, 2.5e10, -3e9]), ("f32", [2], [1, 2000]),
    ("f32", [2], [0, 0]), ("f32", [4], [nan, inf, -inf, 1]), ("f32", [2], [nan, 1e-7]), ("f32", [2], [nan, nan]),
    ("f32", [2], [inf, -1e20]), ("f32", [2], [-0.0, 0.0]), ("f32", [2, 3], [1, 2, 3, 4, 5, 6.125]),
    ("f32", [3], [3.4028235e38, 1.1754944e-38, 1e-45]), ("f32", [2], [123456.789, 1234.5]), ("f32", [1], [16777216]),
    ("f32", [2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8]), ("f32", [2, 1, 2, 2], list(range(8))), ("f32", [], [1.5]),
    ("f32", [], [1]), ("f32", [], [1e-5]), ("f32", [], [1e20]), ("f32", [], [nan]), ("f32", [], [-inf]),
    ("f32", [], [123456789]), ("f32", [0], []), ("f32", [2, 0], []), ("f32", [30], [i / 7 for i in range(30)]),
    ("f32", [2, 20], [i * i / 3 for i in range(40)]), ("f32", [1, 1], [0.3]), ("i32", [3], [1, -20, 300]),
    ("i32", [2, 2], [-2147483648, 2147483647, 0, 5]), ("i32", [], [7]), ("i32", [40], [i * 101 for i in range(40)]),
    ("u32", [2], [4294967295, 1]), ("i8", [3], [-128, 127, 0]), ("bool", [3], [1, 0, 1]), ("bool", [2, 2], [1, 1, 1, 1]),
    ("bool", [], [1]), ("bool", [], [0]), ("i32", [1001], "count"), ("i32", [1000, 2], "count"), ("f32", [50, 50], "count"),
    ("f32", [3, 4, 100], "count"), ("i32", [7, 7, 7, 7], "count"), ("f32", [1001], "count"), ("i32", [2, 600], "count"),
]
types = {"f32": np.float32, "i32": np.int32, "u32": np.uint32, "i8": np.int8, "bool": np.bool_}
for dtype, shape, values in cases:
    counted = values == "count"
    x = np.arange(np.prod(shape)) if counted else np.array(values, np.float64)
    x = x.astype(types[dtype]).reshape(shape)
    print(dtype, *shape, ":", values if counted else " ".join(repr(float(v)) for v in values))
    for line in str(x).split("\n"):
        print("|" + line)
