# SPDX-License-Identifier: Apache-2.0
"""tally.jax: values, dtypes, transformations, errors, threads, and XLA's interface."""
import itertools
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import FOLDS, SCANS, close, need, plain_fold, plain_scan, tally

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = need("jax")
jnp = jax.numpy
import tally.jax as tj  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32"]


def run_python(code, **variables):
    """Runs code in a process of its own; its output, standard error included."""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env=dict(os.environ, **variables), timeout=100)
    assert done.returncode == 0, done.stdout
    return done.stdout


# ---- XLA's interface -----------------------------------------------------------------------------


def compile_layout(source, folder):
    return subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-fsyntax-only", "-isystem", jax.ffi.include_dir(),
                           str(source)], capture_output=True, text=True, cwd=folder)


@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="skipped: cc")
def test_declarations_are_xlas(tmp_path):
    done = compile_layout(HERE / "xla_layout.c", tmp_path)
    assert done.returncode == 0, done.stderr
    header = (HERE.parents[1] / "bindings" / "xla" / "xla_ffi.h").read_text(encoding="utf-8")
    (tmp_path / "xla_ffi.h").write_text(header.replace("XLA_F64 = 12", "XLA_F64 = 13"), encoding="utf-8")
    text = (HERE / "xla_layout.c").read_text(encoding="utf-8").replace("../../bindings/xla/", "")
    (tmp_path / "layout.c").write_text(text, encoding="utf-8")
    assert "XLA_FFI_DataType_F64" in compile_layout(tmp_path / "layout.c", tmp_path).stderr


VERSIONS = """
import pathlib, jax, jax.numpy as jnp
def try_version(folder, text):
    header = pathlib.Path(folder, "xla/ffi/api/c_api.h")
    header.parent.mkdir(parents=True, exist_ok=True)
    header.unlink(missing_ok=True)
    if text is not None:
        header.write_text(text)
    jax.ffi.include_dir, real = lambda: folder, jax.ffi.include_dir
    try:
        import tally.jax
    except ImportError as error:
        print(error)
    finally:
        jax.ffi.include_dir = real
form = "#define XLA_FFI_API_MAJOR {}\\n#define XLA_FFI_API_MINOR {}\\n"
for text in (None, "", form.format(1, 5), form.format(0, 0)):
    try_version(FOLDER, text)
print(jax.jit(lambda x: x + 1)(jnp.zeros(2)))
import tally.jax
print(tally.jax.cumsum(jnp.ones(3)))
"""


def test_unknown_versions_are_refused(tmp_path):
    """Nothing is registered then: JAX works on, and so does a later import with the true header."""
    lines = run_python(f"FOLDER = {str(tmp_path)!r}\n" + VERSIONS).splitlines()
    assert "the version of XLA's FFI is unknown" in lines[0]
    assert "XLA's FFI has version -1.-1" in lines[1]
    assert "XLA's FFI has version 1.5; Tally needs 0.1 or a later version of 0" in lines[2]
    assert "XLA's FFI has version 0.0" in lines[3]
    assert lines[4:] == ["[1. 1.]", "[1. 2. 3.]"]


THREADS = """
import pathlib, jax, jax.numpy as jnp, tally.jax
x = jnp.ones((2, 1 << 22), "int32")
y = jax.jit(lambda v: tally.jax.cumsum(v, 1))(x)
assert (y == jnp.arange(1, (1 << 22) + 1)).all()
print(*(p.read_text().strip() for p in pathlib.Path("/proc/self/task").glob("*/comm")), sep="\\n")
"""


def test_large_runs_are_on_xlas_threads():
    out = run_python(THREADS, TALLY_VERBOSE="1")
    run = next(line for line in out.splitlines() if line.startswith("tally,") and ",run," in line)
    if len(os.sched_getaffinity(0)) > 1:
        assert ",threads=1," not in run
    assert "tally" not in out.splitlines(), "Tally's own threads were not started"


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCANS)
def test_scans(name, rng):
    x = rng.standard_normal((3, 4, 5)).astype("f4")
    for axis, exclusive, reverse in ((0, True, False), (2, False, False), (-2, True, True)):
        got = getattr(tj, name)(jnp.asarray(x), axis, exclusive=exclusive, reverse=reverse)
        assert isinstance(got, jax.Array) and got.dtype == jnp.float32
        close(got, plain_scan(name, x.astype("f8"), axis, exclusive, reverse), "f4")


@pytest.mark.parametrize("name", FOLDS)
def test_reductions(name, rng):
    x = rng.random((3, 4, 5)).astype("f4") + .5
    for axis, keepdims in ((None, False), (1, True), ((0, -1), False), ((), False)):
        got = getattr(tj, name)(jnp.asarray(x), axis, keepdims)
        close(got, plain_fold(name, x.astype("f8"), axis, keepdims), "f4")


def test_indices(rng):
    x = rng.integers(0, 3, (4, 6)).astype("f4")
    assert (tj.argmax(x, 1) == np.argmax(x, 1)).all() and tj.argmax(x).shape == ()
    assert (tj.argmin(x, 0, last=True) == 3 - np.argmin(x[::-1], 0)).all()
    want = np.array([[max(range(i + 1), key=lambda k: (row[k], k)) for i in range(6)] for row in x])
    for got in (tj.cumargmax(x, last=True), tj.cumargmin(-x, last=True), jax.vmap(lambda v: tj.cumargmax(v, last=True))(x)):
        assert got.dtype == jnp.int32 and (got == want).all()


def test_linrec(rng):
    x, c = rng.standard_normal((2, 4, 5)).astype("f4")
    for axis, coef in ((0, c), (1, c), (1, c[:1]), (1, c[:, :1]), (0, c[0]), (1, .5)):
        y, full = np.zeros((4, 5)), np.broadcast_to(coef, x.shape)
        rows, factors, sums = (np.moveaxis(a, axis, 0) for a in (x.astype("f8"), full, y))
        for i, row in enumerate(rows):
            sums[i] = row + (factors[i] * sums[i - 1] if i else 0)
        close(tj.linrec(x, coef, axis), y, "f4")
    with pytest.raises(ValueError, match="does not broadcast"):
        tj.linrec(x, c[:, :3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    x = jnp.asarray([1, 0, 1, 1], dtype)
    for got, want in ((tj.cumsum(x), jnp.cumulative_sum(x)), (tj.sum(x), jnp.sum(x)), (tj.prod(x), jnp.prod(x)),
                      (tj.cummax(x), jnp.ones(4, dtype)), (tj.argmax(x), jnp.argmax(x)), (tj.mean(x), jnp.mean(x))):
        assert got.dtype == want.dtype and (got == want).all()


def test_dtypes_that_are_asked_for():
    assert tj.cumsum(jnp.ones(3, "float16"), dtype="f32").dtype == jnp.float32
    assert tj.sum(jnp.ones(3, "int8"), dtype=jnp.int32).dtype == jnp.int32
    assert float(tj.cumsum(jnp.full(4096, 1, "float16"))[-1]) == 4096
    assert tj.sum(jnp.full(1 << 12, 1 + 2**-20), acc="f64") == np.float32((1 + 2**-20) * (1 << 12))
    with jax.enable_x64(True):
        assert tj.cumsum(jnp.ones(3, "int32")).dtype == jnp.int64
        assert tj.argmax(jnp.ones(3)).dtype == jnp.int64
        assert tj.cumsum(jnp.ones(3)).dtype == jnp.float64
    assert tj.cumsum(jnp.ones(3, "int32")).dtype == jnp.int32


def test_odd_shapes():
    assert tj.cumsum(jnp.float32(3)).shape == (1,) and tj.cumsum([1, 2]).tolist() == [1, 3]
    assert tj.sum(jnp.ones((2, 0)), 1).tolist() == [0, 0] and tj.cumsum(jnp.ones((2, 0))).shape == (2, 0)
    assert tj.max(jnp.ones(0)) == -jnp.inf and tj.prod(2.5) == 2.5


# ---- transformations -----------------------------------------------------------------------------


def test_vmap(rng):
    x = jnp.asarray(rng.standard_normal((3, 4, 5)), "float32")
    for axis, f in ((0, lambda v: tj.cumsum(v, 0)), (1, lambda v: tj.cumprod(v, -1, exclusive=True)), (2, tj.sum),
                    (1, lambda v: tj.max(v, 0, True)), (2, lambda v: tj.cumlogsumexp(v, 0, reverse=True))):
        want = np.stack([f(row) for row in np.moveaxis(np.asarray(x), axis, 0)])
        np.testing.assert_allclose(jax.jit(jax.vmap(f, axis))(x), want, rtol=1e-6, atol=1e-6)
    nested = jax.vmap(jax.vmap(tj.cumprod))(x)
    np.testing.assert_allclose(nested, tj.cumprod(x), rtol=1e-6)


def test_vmap_of_operands(rng):
    x, c = (jnp.asarray(a, "float32") for a in rng.standard_normal((2, 3, 4)))
    want = jnp.stack([tj.linrec(x[i], c[0]) for i in range(3)])
    np.testing.assert_allclose(jax.vmap(tj.linrec, (0, None))(x, c[0]), want, rtol=1e-6, atol=1e-6)
    want = jnp.stack([tj.linrec(x[0], c[i]) for i in range(3)])
    np.testing.assert_allclose(jax.vmap(tj.linrec, (None, 0))(x[0], c), want, rtol=1e-6, atol=1e-6)
    numbers = jnp.asarray([.5, .25, 2])
    want = jnp.stack([tj.linrec(x[0], a) for a in numbers])
    np.testing.assert_allclose(jax.vmap(tj.linrec, (None, 0))(x[0], numbers), want, rtol=1e-6, atol=1e-6)


def test_jit_in_loops():
    got = jax.lax.fori_loop(0, 3, lambda i, v: tj.cumsum(v), jnp.ones(4))
    assert got.tolist() == [1, 4, 10, 20]


# ---- words ---------------------------------------------------------------------------------------


def test_kernel(rng):
    x = jnp.asarray(rng.random((3, 4)), "float32")
    weights = tj.kernel("cumprod:f32:3x4:axis=1,exclusive,map=1-x,post=x*y")
    want = x * jnp.concatenate([jnp.ones((3, 1)), jnp.cumprod(1 - x, 1)[:, :-1]], 1)
    np.testing.assert_allclose(jax.jit(weights)(x), want, rtol=1e-6)
    pieces = tj.kernel("cumsum:f32:3x2:axis=1,carry=in+out")
    first, state = pieces(x[:, :2], jnp.zeros((3, 1)))
    second, state = pieces(x[:, 2:], state)
    np.testing.assert_allclose(jnp.concatenate([first, second], 1), jnp.cumsum(x, 1), rtol=1e-6)
    parts = tj.kernel("sum:f32:4:segments=i32/2")
    assert parts(jnp.ones(4), jnp.asarray([0, 1, 4], "int32")).tolist() == [1, 3]
    scaled = tj.kernel("sum:f32:3x4:axes=1,a=f32/0,map=x*a")
    want = jnp.sum(x * jnp.asarray([[1.], [2.], [3.]]), 1)
    for a in (jnp.asarray([1., 2., 3.]), jnp.asarray([[1.], [2.], [3.]])):
        np.testing.assert_allclose(scaled(x, a), want, rtol=1e-6)


# ---- errors --------------------------------------------------------------------------------------


def test_what_is_wrong_is_refused_at_once():
    x = jnp.ones((2, 3))
    for axis, call in itertools.product((5, -3, 2**63), (tj.cumsum, tj.sum, lambda v, axis: tj.linrec(v, v, axis))):
        with pytest.raises(tally.Error, match=rf"^axis: axis {axis} is not in \[-2, 1\]$"):
            call(x, axis)
    assert (tj.cumsum(x, jnp.int32(1)) == tj.cumsum(x, 1)).all() and (tj.sum(x, np.int64(1)) == 3).all()
    with pytest.raises(TypeError, match="^axis: .* is no integer"):
        jax.jit(tj.cumsum)(x, 1)
    with pytest.raises(TypeError, match="^word: None is no text"):
        tj.kernel(None)
    with pytest.raises(tally.Error, match="axis: axis 0 is named twice"):
        jax.jit(lambda v: tj.sum(v, (0, 0)))(x)
    for axis in (True, 1.0, (0,), [0]):
        with pytest.raises(TypeError, match="^axis: .* is (a bool|no integer)"):
            tj.cumsum(x, axis)
    with pytest.raises(TypeError, match=r"^axis: \[0, 1\] is no integer; hint: a tuple names several"):
        tj.sum(x, [0, 1])
    with pytest.raises(TypeError, match="elements of complex64 have no name in Tally"):
        tj.cumsum(x.astype("complex64"))
    with pytest.raises(TypeError, match="l2 of int32 is no int32; hint: x.astype"):
        tj.l2(x.astype("int32"))
    with pytest.raises(tally.Unsupported, match="order=exact"):
        tj.cumsum(x, order="exact")
    with pytest.raises(tally.Unsupported, match="from f32 to i8; hint: kernels of .* exist from f32 to f64 f32$"):
        tj.cumsum(x, dtype="i8")
    with pytest.raises(TypeError, match="dtype: 'i4' is no dtype of Tally; hint: names count bits: 'f32', "):
        tj.cumsum(x, dtype="i4")
    with pytest.raises(tally.Error, match="needs at least one element|no element"):
        tj.argmax(jnp.ones(0))
    with pytest.raises(TypeError, match="takes 2 arrays, not 1"):
        tj.kernel("linrec:f32:4:axis=0,a")(jnp.ones(4))
    with pytest.raises(ValueError, match=r"a: the word has f32 of shape \(4,\), and the array is i32 of shape \(4,\)"):
        tj.kernel("linrec:f32:4:axis=0,a")(jnp.ones(4), jnp.ones(4, "int32"))
    with pytest.raises(TypeError, match="jvp"):
        jax.jvp(tj.cumsum, (x,), (x,))


def test_what_only_the_handler_sees():
    def call(word, shape=(4,)):
        f = jax.ffi.ffi_call("tally", jax.ShapeDtypeStruct(shape, jnp.float32))
        return jax.jit(lambda v: f(v, word=word))(jnp.ones(4)).block_until_ready()

    assert call("cumsum:f32:4:axis=0").tolist() == [1, 2, 3, 4]
    for word, code, text in (("cumsum:f32:5:axis=0", "INVALID_ARGUMENT", "another shape than the word"),
                             ("cumsum:f64:4:axis=0", "INVALID_ARGUMENT", "in: the array has another dtype"),
                             ("frob", "INVALID_ARGUMENT", "op"), ("cumsum:f32:4:axis=0,in=1@1", "INVALID_ARGUMENT", "strides"),
                             ("cumsum:f32:4:axis=0,order=exact", "UNIMPLEMENTED", "order=exact")):
        with pytest.raises(jax.errors.JaxRuntimeError, match=f"{code}: tally: .*{text}"):
            call(word)
    with pytest.raises(jax.errors.JaxRuntimeError, match="INVALID_ARGUMENT: tally: out"):
        call("cumsum:f32:4:axis=0", (5,))
    with pytest.raises(tally.Unsupported, match="^in: tensors say how they lie"):
        tj.kernel("cumsum:f32:4:axis=0,in=2@0")


def test_vmap_of_segments():
    parts, x = tj.kernel("sum:f32:4:segments=i32/2"), jnp.arange(8.0).reshape(2, 4)
    offsets = jnp.asarray([[0, 1, 4], [0, 3, 4]], "int32")
    assert jax.vmap(parts)(x, offsets).tolist() == [[0, 6], [15, 7]]
    assert jax.vmap(parts, (0, None))(x, offsets[0]).tolist() == [[0, 6], [4, 18]]
    weights = jnp.asarray([1.0, 10.0])
    gradient = jax.vmap(jax.grad(lambda v, o: (parts(v, o) * weights).sum()))(x, offsets)
    assert gradient.tolist() == [[1, 10, 10, 10], [1, 1, 1, 10]]
