"""The examples in shared/docs/actions.md are valid."""

import json
import re
from pathlib import Path

from test_every_type import TYPES

PAGE = Path(__file__).resolve().parents[2] / "shared" / "docs" / "actions.md"


def test_every_type_has_a_valid_example(scheduler):
    _, _, section = PAGE.read_text().partition("\n## Types\n")
    section, _, _ = section.partition("\n## ")
    examples = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", section, re.DOTALL)]
    shown = set()
    for number, example in enumerate(examples):
        # The job must be accepted, but not run.
        example["properties"]["startTime"] = "2050-01-01T00:00:00Z"
        job = scheduler.must("PUT", f"/jobs/example-{number}", example)
        action = job["properties"]["action"]
        shown |= {action["type"], action.get("errorAction", action)["type"]}
    assert shown == {kind.split()[0] for kind in TYPES}
