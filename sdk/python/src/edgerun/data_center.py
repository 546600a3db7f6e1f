"""Places where workers and network volumes can be."""

from __future__ import annotations

import re
from enum import Enum


class DataCenter(str, Enum):
    """A data center; the value is its id."""

    US_CA_2 = "US-CA-2"
    US_IL_1 = "US-IL-1"
    US_KS_2 = "US-KS-2"
    US_MO_1 = "US-MO-1"
    US_MO_2 = "US-MO-2"
    US_NC_2 = "US-NC-2"
    US_NE_1 = "US-NE-1"
    US_WA_1 = "US-WA-1"
    EU_CZ_1 = "EU-CZ-1"
    EU_RO_1 = "EU-RO-1"
    EUR_NO_1 = "EUR-NO-1"


CPU_DATACENTERS = frozenset({DataCenter.EU_RO_1})
"""Data centers that have CPU instances."""

COUNTRIES = ("CZ", "FR", "GB", "NO", "RO", "US")

# Own hosts may be elsewhere; this is the form in which the service accepts their location.
_ID_OF_OWN = re.compile(r"[A-Z]{2,3}-[A-Z]{2,3}-\d{1,3}")


def read_data_centers(value: object) -> tuple[str, ...]:
    """Checks the `datacenter` parameter, and answers ids such as "US-KS-2" or countries such as "US".

    Raises:
        ValueError: It is something else.
    """
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not values:
        raise ValueError(
            "datacenter=[] names no data center: give at least one, or leave datacenter out for any."
        )
    return tuple(dict.fromkeys(read_data_center("datacenter", place, COUNTRIES) for place in values))


def read_data_center(parameter: str, value: object, countries: tuple[str, ...] = ()) -> str:
    """Validates one data center: a DataCenter, its id in any spelling, or the id of an own location.

    Raises:
        ValueError: It is something else.
    """
    if isinstance(value, DataCenter):
        return value.value
    place = value.strip().upper().replace("_", "-") if isinstance(value, str) else ""
    if place in countries or _ID_OF_OWN.fullmatch(place):
        return place
    allowed = ", ".join([*(known.value for known in DataCenter), *countries])
    raise ValueError(
        f"{parameter}={value!r} is no known data center. Allowed: {allowed}, "
        "or the id of a place of your own hosts in the same form."
    )


def refuse_places_without_cpus(places: tuple[str, ...]) -> None:
    """CPU endpoints are possible only where there are CPU instances.

    Raises:
        ValueError: A data center has no CPU instances.
    """
    known = {place.value for place in DataCenter}
    having = {place.value for place in CPU_DATACENTERS}
    for place in places:
        if place in known - having:
            raise ValueError(
                f"datacenter={place!r} has no CPU instances. Data centers with CPUs: {', '.join(sorted(having))}."
            )


def country_of(place: str) -> str:
    """The country of a known data center, as the service's `locations` want it; others stay as they are."""
    if place not in {known.value for known in DataCenter}:
        return place
    region, area, _ = place.split("-")
    return "US" if region == "US" else area
