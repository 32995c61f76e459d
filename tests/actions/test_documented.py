"""The examples of shared/docs/actions.md can be pasted."""

import json
import re
from pathlib import Path

from test_every_type import TYPES

PAGE = Path(__file__).resolve().parents[2] / "shared" / "docs" / "actions.md"


def test_every_type_has_an_example_that_is_taken(scheduler):
    _, _, section = PAGE.read_text().partition("\n## Types\n")
    section, _, _ = section.partition("\n## ")
    examples = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", section, re.DOTALL)]
    shown = set()
    for number, example in enumerate(examples):
        # It is to be taken, not to be sent.
        example["properties"]["startTime"] = "2050-01-01T00:00:00Z"
        job = scheduler.must("PUT", f"/jobs/example-{number}", example)
        action = job["properties"]["action"]
        shown |= {action["type"], action.get("errorAction", action)["type"]}
    assert shown == {kind.split()[0] for kind in TYPES}
