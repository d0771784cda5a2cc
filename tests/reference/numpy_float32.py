"""numpy's float32 exp and log once more, with the C library's fused multiply-add: the second telling that
engine/text/numpy_math.cpp is compared with where numpy itself is not installed."""
import ctypes
import math
import struct

LIBM = ctypes.CDLL("libm.so.6")
fma = LIBM.fmaf
fma.restype, fma.argtypes = ctypes.c_float, [ctypes.c_float] * 3


def f32(value):
    """The float32 nearest to a double; products, quotients and sums of two float32 come out exactly so."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


EXP = ([9.999999999980870924916e-01, 7.257664613233124478488e-01, 2.473615434895520810817e-01, 5.114512081637298353406e-02,
        6.757896990527504603057e-03, 5.082762527590693718096e-04],
       [1.0, -2.742335390411667452936e-01, 2.159509375685829852307e-02])
LOG = ([0.0, 9.999999999999998702752e-01, 2.112677543073053063722e+00, 1.480000633576506585156e+00,
        3.808837741388407920751e-01, 2.589979117907922693523e-02],
       [1.0, 2.612677543073109236779e+00, 2.453006071784736363091e+00, 9.864942958519418960339e-01,
        1.546476374983906719538e-01, 5.875095403124574342950e-03])
LOG2E, LN2, SQRT2 = f32(1.4426950408889634), f32(0.6931471805599453), f32(math.sqrt(2))


def polynomial(coefficients, x):
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = fma(value, x, coefficient)
    return value


def quotient(pair, x):
    return f32(polynomial(pair[0], x) / polynomial(pair[1], x))


def exp(x):
    if x < -103.97208:
        return 0.0
    power = round(f32(x * LOG2E))  # to even, as the processor rounds
    return f32(math.ldexp(quotient(EXP, fma(power, -1.42860677e-6, fma(power, -6.93145752e-1, x))), power))


def log(x):
    mantissa, exponent = math.frexp(x)
    mantissa, exponent = 2 * mantissa, exponent - 1
    if mantissa > SQRT2:
        mantissa, exponent = mantissa / 2, exponent + 1
    return fma(exponent, LN2, quotient(LOG, mantissa - 1))
