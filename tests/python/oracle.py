# SPDX-License-Identifier: Apache-2.0
"""What docs/semantics.md promises of each function, by numpy's long doubles: the least and the largest result.

Elements come as rows of what is combined. All values, those of integers too, fit a long double."""
import ml_dtypes
import numpy as np

WIDE = np.longdouble
TINY = np.ldexp(WIDE(1), -16000)  # stands for +0 where zeros have an order
# Bits of the significand, exponents of the least and the largest normal number.
FORMATS = {"float64": (53, -1022, 1023), "float32": (24, -126, 127), "float16": (11, -14, 15),
           "bfloat16": (8, -126, 127)}
DTYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": ml_dtypes.bfloat16, "i64": "i8", "i32": "i4", "i16": "i2",
          "i8": "i1", "u64": "u8", "u32": "u4", "u16": "u2", "u8": "u1", "bool": "?"}
DTYPES = {name: np.dtype(dtype) for name, dtype in DTYPES.items()}
FLOATS = ["f64", "f32", "f16", "bf16"]
NUMBERS = [*FLOATS, "i64", "i32", "u64", "u32"]
ADDS = ["cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "sum", "prod"]
SCANS = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "cumargmax", "cumargmin", "cumulative_sum",
         "cumulative_prod"]
INDICES = ["argmax", "argmin", "cumargmax", "cumargmin"]
SINGLE = {("f16", "f32"), ("bf16", "f32")}


def pairs(name):
    """The dtypes of input and result that have kernels, by the table of docs/word.md. The sign of integers that are
    added or multiplied is the caller's."""
    same = {(dtype, dtype) for dtype in NUMBERS}
    if name in ADDS:
        wide = {(f"{sign}{bits}", f"{other}{more}") for sign in "iu" for other in "iu" for bits in (8, 16, 32)
                for more in (32, 64) if more >= bits}
        wide |= {(f"{sign}64", f"{other}64") for sign in "iu" for other in "iu"}
        wide |= {("bool", f"{sign}{bits}") for sign in "iu" for bits in (32, 64)}
        return same | wide | SINGLE | {("f32", "f64")}
    if name == "mean":
        return same | SINGLE | {(dtype, out) for dtype in DTYPES if dtype not in FLOATS for out in ("f32", "f64")}
    if name in ("l2", "log_sum", "log_sum_exp"):
        return same | SINGLE
    if name in INDICES:
        return {(dtype, index) for dtype in DTYPES for index in ("i64", "i32", "u64", "u32")[:2 if name in SCANS else 4]}
    if name in ("l1", "sum_square"):
        return same
    return {(dtype, dtype) for dtype in (FLOATS if name == "cumlogsumexp" else DTYPES)}


def default(name, dtype):
    """The dtype of the result of a call that names none, or None if it must."""
    if name in INDICES:
        return "i64"
    if dtype not in FLOATS and name in ("l2", "log_sum", "log_sum_exp"):
        return None
    if dtype in FLOATS or name not in (*ADDS, "mean"):
        return dtype
    return "f64" if name == "mean" else "u64" if dtype[0] == "u" else "i64"


# --- floats ------------------------------------------------------------------------------------------------------


def unit(x, dtype):
    """The distance of neighbours in this dtype, around x."""
    bits, least, _ = FORMATS[dtype.name]
    return np.ldexp(WIDE(1), np.maximum(np.frexp(np.abs(x))[1] - 1, least) - bits + 1)


def rounded(x, dtype):
    """To nearest even, once."""
    step = unit(x, dtype)
    y = np.rint(x / step) * step
    return np.where(np.abs(y) >= np.ldexp(WIDE(1), FORMATS[dtype.name][2] + 1), np.copysign(np.inf, y), y)


def accumulator(dtype, out, acc):
    """The dtype of partial results."""
    return np.dtype("f8") if acc or "float64" in (dtype.name, out.name) else np.dtype("f4")


def added(terms, eps, extra):
    """Sums of prefixes, how far they may be off, and which of them have no rounding."""
    sums, sizes = np.add.accumulate(terms, 1), np.add.accumulate(np.abs(terms), 1)
    whole = np.logical_and.accumulate(np.isfinite(terms) & (terms == np.rint(terms)), 1) & (sizes <= 1 / eps)
    count = np.arange(1, terms.shape[1] + 1) + extra
    return sums, np.where(whole | ~np.isfinite(sums), 0, count * eps * sizes), whole


def multiplied(x, eps, acc):
    y = np.multiply.accumulate(x, 1)
    size = np.abs(y)
    _, least, most = FORMATS[acc.name]
    strange = np.isfinite(y) & (y != 0) & ((size < np.ldexp(WIDE(1), least + 1)) | (size > np.ldexp(WIDE(1), most)))
    slack = np.where(np.isfinite(y), 2 * np.arange(1, x.shape[1] + 1) * eps * size, 0)
    anything = np.logical_or.accumulate(strange, 1)
    return np.where(anything, -np.inf, y - slack), np.where(anything, np.inf, y + slack)


def logarithms_of_exponentials(x, eps, out):
    """Of prefixes: the largest element, and the sum of exponentials of the differences."""
    low, high = np.empty_like(x), np.empty_like(x)
    for i in range(x.shape[1]):
        part = x[:, :i + 1]
        top = np.max(part, 1, keepdims=True)
        d = np.where(part == top, 0, part - top)
        e = np.exp(d)
        total = np.sum(e, 1)
        y = np.where(np.isfinite(top[:, 0]), top[:, 0] + np.log(total), top[:, 0])
        weight = np.sum(np.where(np.isneginf(d), 0, np.abs(d)) * e, 1) / total
        slack = (min(i + 1, 4096) + 8 + weight + 4 * np.abs(y)) * eps + (unit(y, out) if out is not None else 0)
        slack = np.where(np.isfinite(y), slack, 0)
        low[:, i], high[:, i] = y - slack, y + slack
    return low, high


def floats(name, x, eps, acc, out):
    """Bounds for the prefixes of rows, before they are rounded to the result's dtype."""
    if name in ("sum", "cumsum", "cumulative_sum"):
        y, slack, _ = added(x, eps, 1)
        return y - slack, y + slack
    if name in ("prod", "cumprod", "cumulative_prod"):
        return multiplied(x, eps, acc)
    if name in ("log_sum_exp", "cumlogsumexp"):
        return logarithms_of_exponentials(x, eps, out)
    terms = x * x if name in ("l2", "sum_square") else np.abs(x) if name == "l1" else x
    y, slack, exact = added(terms, eps, 3)
    count = np.arange(1, x.shape[1] + 1)
    if name == "l2":
        y = np.sqrt(y)
        slack = np.where(exact | ~np.isfinite(y), 0, (count + 5) * eps * y)
    low, high = y - slack, y + slack
    if name == "log_sum":
        low, high = np.log(np.where(exact, low, np.maximum(low, 0))), np.log(high)
        more = np.where(np.isfinite(high), 4 * eps * np.maximum(np.abs(low), np.abs(high)), 0)
        low, high = low - more, high + more
    if name == "mean":
        low, high = low / count, high / count
    if name in ("mean", "l2"):
        low, high = (np.where(exact, rounded(v, acc), v) for v in (low, high))
    if out is not None:
        more = np.where(np.isfinite(low) & np.isfinite(high) & ~(exact & (name != "log_sum")),
                        unit(np.maximum(np.abs(low), np.abs(high)), out), 0)
        low, high = low - more, high + more
    return low, high


def plain_loop(name, x, acc):
    """order=serial: bits, in the accumulator's arithmetic."""
    x = x.astype(acc)
    if "prod" in name:
        return np.multiply.accumulate(x, 1)
    return np.add.accumulate({"l1": np.abs, "sum_square": np.square}.get(name, np.positive)(x), 1)


# --- integers ----------------------------------------------------------------------------------------------------


def wrapped(name, x, out):
    """Modulo the width of the result."""
    x = x.astype("u8") if x.dtype.kind in "ub" else x.astype("i8").astype("u8")
    if name == "l1" and out.kind == "i":
        x = np.where(x.view("i8") < 0, -x, x)
    x = x * x if name == "sum_square" else x
    y = np.multiply.accumulate(x, 1) if "prod" in name else np.add.accumulate(x, 1)
    return y.astype(out).astype(WIDE)


def mean_of_integers(x, out):
    """Of whole rows. Python's integers are exact, and become floats by one rounding."""
    n = x.shape[1]
    sums = [sum(map(int, row)) for row in x]
    if out.kind == "f":
        return np.array([np.float64(s) / n for s in sums], "f8").astype(out).astype(WIDE)
    return np.array([abs(s) // n * (1 if s >= 0 else -1) for s in sums], WIDE)


def real_of_integers(name, x, out):
    """Computed in f64, truncated and saturated."""
    eps, least, most = WIDE(2) ** -53, WIDE(np.iinfo(out).min), WIDE(np.iinfo(out).max)
    if name == "log_sum":
        sums = np.add.reduce(x.astype("u8" if out.kind == "u" else "i8"), 1, keepdims=True)
        y = np.log(sums.astype("f8").astype(WIDE))
        low, high = (y + sign * np.where(np.isfinite(y), 4 * eps * np.abs(y), 0) for sign in (-1, 1))
    else:
        low, high = floats(name, x.astype("f8").astype(WIDE), eps, np.dtype("f8"), None)
    cut = [np.clip(np.trunc(np.where(np.isnan(v), 0, v)), least, most) + 0 for v in (low, high)]  # no -0
    return cut[0][:, -1], cut[1][:, -1]


# --- elements and indices ----------------------------------------------------------------------------------------


def ends(dtype):
    if dtype.name in FORMATS:
        return -np.inf, np.inf
    return (0, 1) if dtype == bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def picked(name, x, identity, ignore, exclusive):
    """The largest or smallest of prefixes: -0 is less than +0."""
    x = np.where(x == 0, np.copysign(TINY, x), x)
    nothing = np.isnan(x)
    most = np.maximum if "max" in name else np.minimum
    y = most.accumulate(np.where(nothing & ignore, identity, x), 1)
    if ignore and not exclusive:
        y = np.where(np.logical_and.accumulate(nothing, 1), np.nan, y)
    return np.where(np.abs(y) == TINY, np.copysign(0, y), y)


def index(name, x, ignore, last):
    nan = np.isnan(x)
    lowest = -np.inf if name == "argmax" else np.inf
    best = (np.max if name == "argmax" else np.min)(np.where(nan, lowest, x), 1, keepdims=True)
    hit = (x == best) & ~nan
    if not ignore:
        hit = np.where(nan.any(1, keepdims=True), nan, hit)
    hit = np.where(nan.all(1, keepdims=True), True, hit)
    n = x.shape[1]
    return (n - 1 - np.argmax(hit[:, ::-1], 1) if last else np.argmax(hit, 1)).astype(WIDE)


def running_index(name, x, ignore, last, reverse):
    """By the plain loop, over rows in scan direction. NaN is the largest of all, or with `ignore` the smallest."""
    sign, n, y = 1 if name == "cumargmax" else -1, x.shape[1], np.empty(x.shape, WIDE)
    for row, results in zip(x.tolist(), y):
        keys = [(-1 if ignore else 1, 0) if v != v else (0, sign * v) for v in row]
        best = 0
        for i, key in enumerate(keys):
            best = i if key > keys[best] or (last and key == keys[best]) else best
            results[i] = n - 1 - best if reverse else best
    return y


# --- whole calls -------------------------------------------------------------------------------------------------


def identity_of(name, dtype, out):
    """The result of no elements."""
    if name in ("max", "min", "cummax", "cummin"):
        return WIDE(ends(dtype)["min" in name])
    if name.startswith(("log", "cumlog")):
        return WIDE(-np.inf) if out.name in FORMATS else WIDE(np.iinfo(out).min)
    if name == "mean":
        return WIDE(np.nan) if out.name in FORMATS else WIDE(0)
    return WIDE("prod" in name)


def prefixes(name, x, out, options):
    """Bounds for all prefixes of rows, or in the last column alone."""
    exclusive = bool(options.get("exclusive"))
    if name in ("max", "min", "cummax", "cummin"):
        y = picked(name, x.astype(WIDE), ends(x.dtype)["min" in name], options.get("nan") == "ignore", exclusive)
        return y, y
    if name in INDICES:
        ignore, last = options.get("nan") == "ignore", bool(options.get("last"))
        if name in SCANS:
            y = running_index(name, x, ignore, last, bool(options.get("reverse")))
        else:
            y = index(name, x.astype(WIDE), ignore, last)[:, None]
        return y, y
    if x.dtype.name not in FORMATS:
        if name in ("l2", "log_sum", "log_sum_exp"):
            low, high = real_of_integers(name, x, out)
            return low[:, None], high[:, None]
        y = mean_of_integers(x, out)[:, None] if name == "mean" else wrapped(name, x, out)
        return y, y
    acc = accumulator(x.dtype, out, options.get("acc"))
    if options.get("order") == "serial" and name in (*ADDS, "l1", "sum_square"):
        low = high = plain_loop(name, x, acc).astype(WIDE)
    else:
        low, high = floats(name, x.astype(WIDE), WIDE(2) ** -FORMATS[acc.name][0], acc, out)
    return rounded(low, out), rounded(high, out)


def as_rows(x, axes):
    kept = [d for d in range(x.ndim) if d not in axes]
    count = int(np.prod([x.shape[d] for d in axes], dtype=int))
    outer = int(np.prod([x.shape[d] for d in kept], dtype=int))
    return x.transpose([*kept, *axes]).reshape(outer, count), [x.shape[d] for d in kept]


def axes_of(name, rank, axis):
    """Those that are combined."""
    rank = max(rank, 1) if name in SCANS else rank
    given = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return sorted(a % rank for a in given)


def shape_of(name, shape, options):
    """Of the result."""
    axes = axes_of(name, len(shape), options.get("axis"))
    if name not in SCANS:
        return tuple(1 if d in axes else size for d, size in enumerate(shape)
                     if d not in axes or options.get("keepdims"))
    more = bool(options.get("include_initial"))
    return tuple(size + (more and d in axes) for d, size in enumerate(shape or (1,)))


def results(name, x, out, options):
    """The least and the largest results of the whole call."""
    scan, axes = name in SCANS, axes_of(name, x.ndim, options.get("axis"))
    x = x.reshape(1) if scan and x.ndim == 0 else x
    rows, kept = as_rows(x, axes)
    start = np.full((len(rows), 1), identity_of(name, x.dtype, out))
    with np.errstate(all="ignore"):
        if not scan:
            bounds = prefixes(name, rows, out, options) if rows.shape[1] > 0 else (start, start)
            return [b[:, -1].reshape(shape_of(name, x.shape, options)) for b in bounds]
        if options.get("exclusive"):
            first = identity_of(name, x.dtype, x.dtype).astype(x.dtype)
            turned = rows[:, ::-1] if options.get("reverse") else rows
            rows = np.concatenate([np.full_like(turned[:, :1], first), turned[:, :-1]], 1)
        elif options.get("reverse"):
            rows = rows[:, ::-1]
        bounds = prefixes(name, rows, out, options) if rows.size else (rows.astype(WIDE),) * 2
    bounds = [b[:, ::-1] if options.get("reverse") else b for b in bounds]
    if options.get("include_initial"):
        bounds = [np.concatenate([start, b], 1) for b in bounds]
    return [np.moveaxis(b.reshape([*kept, b.shape[1]]), -1, axes[0]) for b in bounds]


def agree(got, low, high):
    """Of each element: within the bounds, and a zero of their sign if they are equal."""
    got = np.asarray(got).astype(WIDE)
    exact_zero = (got == 0) & (low == high) & (np.signbit(low) == np.signbit(high))
    within = (low <= got) & (got <= high) & ~(exact_zero & (np.signbit(got) != np.signbit(low)))
    return within | (np.isnan(low) | np.isnan(high)) & np.isnan(got) | np.isneginf(low) & np.isposinf(high)
