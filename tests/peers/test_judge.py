"""The judge, on made-up calls, and what else is decided without a process. `tests/peers/run` begins with it."""

import unittest

from judge import HOUR, Verdict, burst, by_name, judge, quantile, setup_lines, shifted, steady, summer
from peers import recurrence
from scenarios import CHANGES, said

DUE = {"a": 10.0, "b": 10.0, "c": 20.0}


class Judge(unittest.TestCase):
    def test_verdicts(self):
        cases = [
            ("nothing came", [], None, Verdict(3, 0, 3, 0, 0, 0)),
            ("the peer has one of three", [], 1, Verdict(3, 0, 2, 1, 0, 0)),
            ("it says that it has more than are missing", [("a", 10)], 9, Verdict(3, 1, 0, 2, 0, 0, 0, 0, 0)),
            ("one is lost", [("a", 10), ("b", 10.5)], 0, Verdict(3, 2, 1, 0, 0, 0, 0, 500, 500)),
            ("early", [("a", 9.5), ("b", 10), ("c", 20)], None, Verdict(3, 3, 0, 0, 0, 1, 0, 0, 0)),
            ("twice, and the first counts", [("a", 12), ("a", 10), ("b", 10), ("c", 21)], None,
             Verdict(3, 3, 0, 0, 1, 0, 0, 1000, 1000)),
        ]  # fmt: skip
        for name, arrivals, left, verdict in cases:
            with self.subTest(name):
                self.assertEqual(judge(DUE, arrivals, left), verdict)

    def test_a_call_of_another_run_is_no_call_of_this_one(self):
        with self.assertRaises(ValueError):
            judge(DUE, [("x", 10)])

    def test_quantiles(self):
        ordered = list(range(1, 101))
        for share, value in [(0.5, 50), (0.99, 99), (1, 100), (0.001, 1)]:
            self.assertEqual(quantile(ordered, share), value)

    def test_plans(self):
        self.assertEqual(burst(5.0, 2), {"j0": 5.0, "j1": 5.0})
        self.assertEqual(steady(5.0, 1, 4), {"j0": 5.0, "j1": 5.25, "j2": 5.5, "j3": 5.75})
        own, real = shifted(1000.0)
        self.assertEqual((own["before1"], real["before1"]), (1000.1, 1000.1))
        self.assertEqual(real["skipped0"], 1015.0)
        self.assertEqual(own["after0"] - real["after0"], HOUR)
        skipped = [due for name, due in own.items() if name.startswith("skipped")]
        self.assertTrue(1015 < min(skipped) and max(skipped) < 1015 + HOUR)
        self.assertTrue(max(real.values()) < 1000 + 60)

    def test_minutes(self):
        expected = [60, 120, 180]
        cases = [
            ("each once", [61, 121, 180.5], Verdict(3, 3, 0, 0, 0, 0, 1000, 1000, 1000)),
            ("outside of what counts", [59, 240], Verdict(3, 0, 3, 0, 0, 0)),
            ("one twice, one never", [60, 90, 120], Verdict(3, 2, 1, 0, 1, 0, 0, 30000, 30000)),
        ]
        for name, arrivals, verdict in cases:
            with self.subTest(name):
                self.assertEqual(summer(expected, arrivals), verdict)

    def test_calls_by_name(self):
        self.assertEqual(by_name([("a", 2), ("b", 3), ("a", 1)]), {"a": [1, 2], "b": [3]})

    def test_rules_as_recurrences(self):
        minutely = {"frequency": "minute", "timeZone": "UTC"}
        daily = {"frequency": "day", "timeZone": "UTC", "schedule": {"hours": [2], "minutes": [1]}}
        self.assertEqual([recurrence(rule, "UTC") for rule in ("* * * * *", "1 2 * * *")], [minutely, daily])
        for rule in ["* 2 * * *", "1 2 3 * *", "1 2"]:
            with self.assertRaises(ValueError):
                recurrence(rule, "UTC")

    def test_walls(self):
        for change, instants, wall in [
            ("spring", [-60, 0], "01:59 before, 03:00 after"),
            ("autumn", [-60, 60], "01:59 before, 01:01 after"),
            ("autumn", [], "not"),
        ]:
            at = CHANGES[change][0].timestamp()
            self.assertEqual(said([at + seconds for seconds in instants], at, change), wall)

    def test_lines_of_set_up(self):
        self.assertEqual(setup_lines("x\n// set-up\n\na\n  // why\nb\n// end of set-up\nc\n"), 2)
        for text in ["", "# set-up\n", "# set-up\n# set-up\n# end of set-up\n"]:
            with self.assertRaises(ValueError):
                setup_lines(text)


if __name__ == "__main__":
    unittest.main()
