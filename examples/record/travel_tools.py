"""The tools of the example's travel desk; they answer from tables, so every run is the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic_ai import ModelRetry
from pydantic_ai.exceptions import ToolFailed

_BOOKING: dict[str, Any] = {
    "code": "KZ-4821",
    "traveller": "Inês Gonçalves",
    "flight": "KZ 201",
    "from": "LIS",
    "to": "HND",
    "departs_at": "2026-10-14T09:40:00+01:00",
    "seat": "31C",
    "paid": True,
    "price": {"amount": 1249.9, "currency": "EUR"},
    "baggage": [{"kind": "cabin", "kg": 8}, {"kind": "hold", "kg": 23}],
    "meal": None,
}


def get_booking(code: str) -> dict[str, Any]:
    """Look up a booking by its code."""
    return _BOOKING if code == _BOOKING["code"] else {"code": code, "error": "unknown"}


def get_forecast(city: str, days: int) -> list[dict[str, Any]]:
    """Forecast the weather of a city, one entry per day."""
    sky = [("晴れ ☀️", 21), ("小雨 🌧️", 17), ("曇り ☁️", 19)]
    return [
        {"city": city, "date": f"2026-10-{15 + i}", "sky": text, "celsius": celsius}
        for i, (text, celsius) in enumerate(sky[:days])
    ]


def find_hotels(city: str, area: str, guests: int, limit: int) -> list[dict[str, Any]]:
    """Find hotels with room for the guests, below a price per night in yen."""
    hotels: list[dict[str, Any]] = [
        {
            "id": "h-shinjuku-1",
            "name": "風の宿 新宿",
            "yen": 28500,
            "rooms": ["和室"],
            "score": 4.75,
        },
        {
            "id": "h-shinjuku-2",
            "name": "ホテル ミモザ",
            "yen": 24000,
            "rooms": ["洋室"],
            "score": 4.5,
        },
    ]
    return [
        {**hotel, "city": city, "area": area, "guests": guests}
        for hotel in hotels
        if hotel["yen"] <= limit
    ]


def get_hotel_note(hotel_id: str) -> str:
    """Read the house note of a hotel, as its staff wrote it."""
    return f"{hotel_id}: ハラール朝食は二日前までに要予約。\nفُطور حَلال — order two days ahead. ✅"


def change_seat(code: str, seat: str) -> dict[str, Any]:
    """Move a booking to another seat, such as 12F."""
    if not re.fullmatch(r"\d{1,2}[A-K]", seat):
        raise ModelRetry(f"{seat!r} is not a seat: give the row and the letter, such as 14A.")
    return {"code": code, "seat": seat, "changed": True}


def get_entry_rules(nationality: str, destination: str) -> str:
    """Say whether a traveller needs a visa."""
    return f"{nationality} → {destination}: visa not required, up to 90 days."


def get_exchange_rate(base: str, quote: str) -> float:
    """Fetch today's exchange rate."""
    raise ToolFailed(f"rates for {base}/{quote} are unavailable: upstream answered 503")


TOOLS: list[Callable[..., Any]] = [
    get_booking,
    get_forecast,
    find_hotels,
    get_hotel_note,
    change_seat,
    get_entry_rules,
    get_exchange_rate,
]
