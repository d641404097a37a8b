"""Take the result out of an answer that ends with a JSON object."""

import json


def last_object(text: str) -> dict[str, object]:
    """Return the last JSON object in a text that is no part of another one; empty where there is none."""
    decoder, at, found = json.JSONDecoder(), 0, dict[str, object]()
    while (at := text.find("{", at)) >= 0:
        try:
            found, at = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
        except RecursionError:
            break
    return found


def texts_of(value: object) -> list[str]:
    """Return a value, or each value of a list, as text; nothing for no value."""
    values = value if isinstance(value, list) else [value]
    return [str(one) for one in values if one is not None]
