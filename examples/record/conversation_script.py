"""What the people and the scripted model say: six turns of a travel desk in six languages.

A turn is the user's text and the model's responses to it, in the order in which the agent will ask
for them. A response is an assistant message as a chat-completions server would send it.
"""

# ruff: noqa: RUF001 (these are the punctuation marks of Chinese and Japanese)

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

SYSTEM_PROMPT = (
    "You are the travel desk of Kaze Travel. Answer in the language of the traveller. "
    "Look things up with the tools; never guess a booking. 簡潔に、しかし親切に。"
)


@dataclass(frozen=True)
class Turn:
    """One user turn and the responses that the model gives in it."""

    user: str
    responses: list[dict[str, Any]]


def _call(call_id: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    text = json.dumps(arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _says(text: str, *, thinking: str | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if thinking is not None:
        message["reasoning_content"] = thinking
    return message


def _calls(
    *calls: dict[str, Any], text: str | None = None, thinking: str | None = None
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "tool_calls": list(calls)}
    if thinking is not None:
        message["reasoning_content"] = thinking
    return message


# Written with escapes where an editor could change the code points without anybody seeing it.
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
DECOMPOSED_CAFE = "cafe\u0301"
RAINBOW_FLAG = "\U0001f3f3\ufe0f\u200d\U0001f308"
WAVE = "\U0001f44b\U0001f3fd"

TURNS = [
    Turn(
        user=(
            "Olá! Sou a Inês Gonçalves. A minha reserva é KZ-4821, de Lisboa para Tóquio. "
            "Pode confirmar o voo e dizer como estará o tempo à chegada? 🧳"
        ),
        responses=[
            _calls(
                _call("call_01_booking", "get_booking", code="KZ-4821"),
                _call("call_02_forecast", "get_forecast", city="東京", days=3),
                text="Vou verificar as duas coisas ao mesmo tempo.",
                thinking=(
                    "The traveller writes Portuguese. Booking and forecast do not depend on each "
                    "other, so both can be looked up at once."
                ),
            ),
            _says(
                "Confirmado, Inês: voo KZ 201, 14 de outubro às 09:40, lugar 31C.\n\n"
                "Em Tóquio: 21 °C e sol no dia 15, chuva fraca no dia 16 ☔, 19 °C no dia 17."
            ),
        ],
    ),
    Turn(
        user=f"父と母と子ども二人{FAMILY}で泊まれる、新宿のホテルはありますか？予算は一泊3万円です。",
        responses=[
            _calls(
                _call(
                    "call_03_hotels", "find_hotels", city="東京", area="新宿", guests=4, limit=30000
                ),
                thinking="家族4人、上限は一泊30,000円。新宿で探す。",
            ),
            _says(
                "新宿で2軒見つかりました。\n"
                "1. 風の宿 新宿 — 一泊28,500円、和室、朝食付き 🍚\n"
                "2. ホテル ミモザ — 一泊24,000円、地下鉄まで徒歩3分\n"
                "ご家族には「風の宿」をおすすめします。"
            ),
        ],
    ),
    Turn(
        user="السَّلامُ عَلَيْكُمْ، هل يُقَدِّمُ «風の宿» طَعامًا حَلالًا؟ سَنَصِلُ مع جَدَّتي 🕌",
        responses=[
            _calls(_call("call_04_note", "get_hotel_note", hotel_id="h-shinjuku-1")),
            _says("وعليكم السلام! نعم، يُقَدِّمُ الفندق فطورًا حلالًا إذا طُلِبَ قبل يومين. هل أطلبه لكم؟"),
        ],
    ),
    Turn(
        user=f"Please move me to seat 14, and is there a {DECOMPOSED_CAFE} after security? {WAVE}",
        responses=[
            _calls(_call("call_05_seat", "change_seat", code="KZ-4821", seat="14")),
            _calls(
                _call("call_06_seat", "change_seat", code="KZ-4821", seat="14A"),
                thinking="The tool wants row and letter. 14A is by the window, and it is free.",
            ),
            _says(
                f"Done: you are in 14A, by the window. And yes, there is a {DECOMPOSED_CAFE}: "
                '"Bica", opposite gate 24.\tOpen 05:30\u201322:00.'
            ),
        ],
    ),
    Turn(
        user="क्या मुझे जापान के लिए वीज़ा चाहिए? और १०० यूरो में कितने येन मिलेंगे?",
        responses=[
            _calls(
                _call("call_07_visa", "get_entry_rules", nationality="PT", destination="JP"),
                _call("call_08_rate", "get_exchange_rate", base="EUR", quote="JPY"),
            ),
            _says(
                "पुर्तगाली पासपोर्ट पर ९० दिन तक वीज़ा नहीं चाहिए। विनिमय दर की सेवा अभी बंद है, "
                "इसलिए मैं दर का अनुमान नहीं लगाऊँगा; कृपया कल फिर पूछें। 🙏",
                thinking="The rate service is down. A guessed rate would be worse than none.",
            ),
        ],
    ),
    Turn(
        user=f"谢谢！最后一个问题：给您的服务打分的话，在哪里填写？𠮷田先生也想评价。{RAINBOW_FLAG}🇵🇹🇯🇵",
        responses=[
            _says(
                "不客气！行程结束后您会收到一封邮件，里面有评价链接；𠮷田先生也会收到。一路平安！✈️\n"
                "<b>Kaze Travel</b> & 'friends' — C:\\viagens\\Tóquio"
            ),
        ],
    ),
]
