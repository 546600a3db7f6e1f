"""Numbers: a queue function that is called often, and one whose results come one by one."""

from collections.abc import Iterator

from edgerun import Endpoint


@Endpoint(name="statistics", cpu="cpu3c-1-2", workers=(0, 2), max_concurrency=4)
async def statistics(values: list[float]) -> dict:
    """Mean, deviation and median of some values."""
    import numpy

    array = numpy.asarray(values, dtype=float)
    return {"mean": float(array.mean()), "deviation": float(array.std()), "median": float(numpy.median(array))}


@Endpoint(name="primes", cpu="cpu3c-1-2")
def primes(below: int) -> Iterator[int]:
    """Prime numbers, each as soon as it is found."""
    for number in range(2, below):
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            yield number
