"""The JSON interface described in OpenAPI, from the same table that answers the questions."""

from __future__ import annotations

from typing import Any

from firthian._version import __version__
from firthian.explore.server.api import QUESTIONS, Question

_ERROR = {
    "description": "What is wrong, and what to do.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["error", "hint"],
                "properties": {"error": {"type": "string"}, "hint": {"type": "string"}},
            }
        }
    },
}

#: Questions that may take long, and then say so.
_SLOW = ("/api/map", "/api/evaluation")


def openapi() -> dict[str, Any]:
    """Return the description of every path."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Firthian explorer", "version": __version__},
        "paths": {question.path: {"get": _operation(question)} for question in QUESTIONS},
    }


def _operation(question: Question) -> dict[str, Any]:
    answers: dict[str, Any] = {
        "200": {"description": "The answer.", "content": {"application/json": {"schema": {"type": "object"}}}},
        "400": _ERROR,
        "404": _ERROR,
    }
    if question.path in _SLOW:
        answers["202"] = {"description": "The work goes on: ask again. Says its stage and the share that is done."}
    return {
        "operationId": question.answer.__name__,
        "summary": question.summary,
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": parameter.required,
                "description": parameter.description,
                "schema": parameter.schema(),
            }
            for name, parameter in question.parameters.items()
        ],
        "responses": answers,
    }
