#!/usr/bin/env python3
"""Writes src/text/chat_fixtures/renderings.json for src/text/chat_template_test.cc: what transformers makes of the
templates beside it, which are those of well-known models, and of odd conversations.

Run it in an environment of its own with transformers==5.23.0 and jinja2==3.1.6:

    TZ=UTC python3 tools/generate_chat_fixtures.py src/text/chat_fixtures
"""
import argparse
import datetime
import json
import pathlib

import jinja2
from transformers.utils import chat_template_utils

NOW = 1_699_956_000  # 14 November 2023, 10:00 UTC
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


class FixedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(NOW, tz)


def turn(role, content, **more):
    return {"role": role, "content": content, **more}


SYSTEM = turn("system", "Answer in {braces} and {{ doubled }} ones.\n")
HELLO = turn("user", "  Grüße, 世界! 👋🏽\n\n{% if x %} \u00a0")
ANSWER = turn("assistant", "\nOne line.\r\nAnother\t<b>line</b> & \"quotes\" 'too'\n")
THOUGHT = turn("assistant", "<think>\nfirst, then\n</think>\n\nSo it is.")
REASONED = turn("assistant", "42", reasoning_content="\nsix by seven\n")
NEXT = turn("user", "And then? </s> <|im_end|>")
CALL = turn("assistant", None, tool_calls=[
    {"type": "function", "id": "abcdefghi", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": [1, 2.5, None, True], "unit": {}}}}])
RESULT = turn("tool", "{\"celsius\": -3}", tool_call_id="abcdefghi")
CONVERSATIONS = {
    "one turn": [HELLO],
    "with system": [SYSTEM, HELLO],
    "many turns": [SYSTEM, HELLO, ANSWER, NEXT],
    "ends with an answer": [HELLO, ANSWER],
    "thoughts": [HELLO, THOUGHT, NEXT, THOUGHT],
    "reasoning apart": [HELLO, REASONED, NEXT, REASONED],
    "a call": [HELLO, CALL, RESULT],
    "two users": [HELLO, NEXT],
    "no content": [turn("user", "")],
    "modes": [turn("system", "Short. /no_think"), HELLO],
}
PARTS = {"content in parts": [turn("user", [{"type": "image"}, {"type": "text", "text": " what is it? "}])]}
# What each template also reads; the empty one comes first.
VARIABLES = {
    "qwen3": [{}, {"enable_thinking": True}, {"enable_thinking": False}],
    "smollm3": [{}, {"enable_thinking": False}],
    "llama3.1": [{}, {"date_string": "1 Jan 2026"}],
    "llama3.2": [{}, {"date_string": "1 Jan 2026"}],
    "granite3": [{}, {"thinking": True}, {"controls": {"length": "long", "n": [1]}}],
    "gpt-oss": [{}, {"reasoning_effort": "high", "model_identity": "You are a test."}],
}
# The language by itself, each with the variables of LANGUAGE_VARIABLES.
LANGUAGE_VARIABLES = {
    "a": [3, 1, 2], "s": "Héllo  wörld\n", "d": {"k": "v", "n": None, "items": 7, "é": [1, {"z": True}]}, "n": 5, "f": 2.5}
LANGUAGE = [
    "{% for x in a %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}"
    "{{ loop.previtem }}{{ loop.nextitem }}{{ loop.revindex }};{% endfor %}",
    "{% for x in a if x > 1 %}{{ x }}{{ loop.length }}{% else %}none{% endfor %}",
    "{% for x in [] %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in a %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in a %}{% break %}{% else %}broken at once{% endfor %}",
    "{% for x in a %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{{ d.items() | list }}{{ d['items'] }}",
    "{% set x = 1 %}{% for y in a %}{% set x = x + y %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(x=1) %}{% for y in a %}{% set ns.x = ns.x + y %}{% endfor %}{{ ns.x }}{{ ns.y is defined }}",
    "{% macro m(p, q='Q', r=p) %}<{{ p }}{{ q }}{{ r }}{{ n }}>{% endmacro %}{{ m(1) }}{{ m(1, r=2) }}{{ m() }}",
    "{% macro fall(i) %}{{ i }}{% if i > 0 %}{{ fall(i - 1) }}{% endif %}{% endmacro %}{{ fall(3) ~ '!' }}",
    "{% set b %}\n {{ n }}\n{% endset %}[{{ b }}]",
    "{{ s[1:] }}{{ s[::-1] }}{{ a[::-1] }}{{ a[-1] }}{{ a[9] }}{{ a[:-1] }}{{ s[-3:-1] }}{{ a[2:0:-1] }}{{ s[1] }}",
    "{{ 7 // 2 }}{{ -7 // 2 }}{{ -7 % 3 }}{{ 7 / 2 }}{{ 4 / 2 }}{{ 1 + 2 * 3 }}{{ 1 ~ 2 + 3 ~ 4 if false else 'x' * 3 }}",
    "{{ 1 < 2 < 3 }}{{ 1 == 1.0 }}{{ true == 1 }}{{ 'a' in s }}{{ 3 not in a }}{{ 'k' in d }}{{ [1] == (1,) }}",
    "{{ none or 'x' }}{{ 0 and 1 }}{{ not a }}{{ u | default('D') }}{{ '' | default('D', true) }}{{ 1 if u }}",
    "{{ u is defined }}{{ u is none }}{{ d.n is none }}{{ s is string }}{{ d is mapping }}{{ s is iterable }}"
    "{{ a is sequence }}{{ true is number }}{{ true is boolean }}{{ n is not integer }}{{ n is equalto 5 }}{{ n is in a }}",
    "{{ d | tojson }}{{ d | tojson(indent=2) }}{{ [] | tojson(indent=2) }}{{ s | tojson }}{{ '<\\u0001\\\\\"\\t\\x7f>' | tojson }}",
    "{{ d }}{{ [1.0, 1e3 if false else 0.1, 'it\\'s', \"q\\\"'\", '\\n\\x7f\\u200b', none, (1,)] }}",
    "{{ a | join('-') }}{{ a | first }}{{ a | last }}{{ a | length }}{{ s | length }}{{ a | reverse | list }}{{ 'abc' | reverse }}",
    "{{ ['b', 'A', 'a', 'b'] | unique | join }}{{ 'ab cd-ef' | title }}{{ \"it's\".title() }}{{ 'aBC' | capitalize }}",
    "{{ [{'r': 1}, {'r': 2}] | selectattr('r', 'gt', 1) | map(attribute='r') | list }}{{ a | map('string') | join(',') }}"
    "{{ [{'r': 1}, {}] | rejectattr('r') | list }}{{ [0, 1] | select | list }}",
    "{{ '42.9' | int }}{{ ' 7 ' | int }}{{ 'x' | int(3) }}{{ 2.9 | int }}{{ s | trim | upper if false else 'e' | upper }}",
    "{{ ' a b  c ' .split() }}{{ 'a,b,,c'.split(',') }}{{ 'a,b,c'.split(',', 1) }}{{ 'xxaxx'.strip('x') }}"
    "{{ ' a '.rstrip() }}|{{ 'aXbXc'.replace('X', '--') }}{{ s.startswith('H') }}{{ s.endswith(('x', '\\n')) }}",
    "{{ d.get('k') }}{{ d.get('zz') }}{{ d.get('zz', 1) }}{{ d.keys() | list }}{{ d.values() | list | length }}",
    "{{ range(3) | list }}{{ range(5, 0, -2) | join }}{{ range(n)[1] }}",
    "  {% if true %}\n  a\n  {% endif %}\n b {%- if true -%} \n c {%+ endif %}\n{# x #}\nd {#- y -#} \n e\n\n",
    "{{ 'a' 'b' }}{{ '\\u00e9\\x41\\q' }}{{- ' \\u00a0x\\u3000 '.strip() -}}  \u00a0\n{{ \"{{ '%}' }}\" }}{{ {'a': {'b': 1}}.a.b }}",
    "{% generation %}{% set n = 1 %}{{ n }}{% endgeneration %}{{ n }}{{ strftime_now('%d %B %Y') }}",
]


def rendered(source, messages, prompt, variables):
    kept = [{key: value for key, value in message.items() if value is not None} for message in messages]
    try:
        texts, _ = chat_template_utils.render_jinja_template(
            [kept], chat_template=source, add_generation_prompt=prompt, **{**SPECIAL, **variables})
        return {"text": texts[0]}
    except jinja2.exceptions.TemplateError as error:
        return {"error": str(error)}


def cases_of(name, source):
    conversations = CONVERSATIONS | (PARTS if name in ("gemma3", "qwen3") else {})
    for variables in VARIABLES.get(name, [{}]):
        for title, messages in conversations.items():
            if variables and title not in ("many turns", "reasoning apart", "modes"):
                continue
            for prompt in (True, False) if title in ("many turns", "ends with an answer", "reasoning apart") else (True,):
                yield {"template": name, "conversation": title, "generation_prompt": prompt, "variables": variables,
                       **rendered(source, messages, prompt, variables)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    chat_template_utils.datetime = FixedClock
    cases = []
    for path in sorted(folder.glob("*.jinja")):
        cases += cases_of(path.stem, path.read_text(encoding="utf-8"))
    language = [{"template": source, **rendered(source, [HELLO], True, LANGUAGE_VARIABLES)} for source in LANGUAGE]
    fixture = {"now": NOW, "language": language, "language_variables": LANGUAGE_VARIABLES, "special_tokens": SPECIAL, "conversations": CONVERSATIONS | PARTS, "cases": cases}
    text = json.dumps(fixture, ensure_ascii=False, indent=1)
    (folder / "renderings.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
