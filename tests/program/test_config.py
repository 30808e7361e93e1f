"""Defaults from a file: the command line and the environment win, and a wrong file is told with its line."""
import json
import os
import subprocess
import unittest

from program import Case, PROGRAM

STEPS = "".join(f'{{"rank":0,"step":{i},"duration":1}}\n' for i in range(20))


class ConfigFile(Case):
    def call(self, yaml, *words, **environment):
        self.write("firstwait/firstwait.yaml", yaml)
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "XDG_CONFIG_HOME": str(self.folder), **environment})

    def setUp(self):
        super().setUp()
        self.steps = self.write("steps.jsonl", STEPS)

    def test_a_file_sets_defaults_of_its_command_only(self):
        yaml = "diagnose:\n  format: json\ncompare:\n  format: text\n"
        self.assertEqual(json.loads(self.call(yaml, "diagnose", self.steps).stdout)["job"]["steps"], 20)
        self.assertTrue(self.call(yaml, "compare", self.steps, self.steps).stdout.startswith("$ firstwait compare"))

    def test_environment_and_command_line_win(self):
        yaml = "diagnose: {format: json}\n"
        self.assertTrue(self.call(yaml, "diagnose", self.steps, FIRSTWAIT_FORMAT="text").stdout.startswith("$ firstwait"))
        self.assertIn("<html", self.call(yaml, "diagnose", self.steps, "--format", "html", FIRSTWAIT_FORMAT="text").stdout)

    def test_a_wrong_file_is_told_with_its_line(self):
        for yaml, line, word in (("diagnose:\n  colour: red\n", 2, "colour"), ("analyse: {}\n", 1, "analyse"),
                                 ("diagnose:\n  format: pdf\n", 2, "pdf"), ("diagnose: [\n", 2, "YAML"), ("- x\n", 1, "commands"),
                                 ("diagnose:\n  format: [json]\n", 2, "one value"), ("attach:\n  pid: 1\n", 2, "pid")):
            done = self.call(yaml, "diagnose", self.steps)
            self.assertEqual(done.returncode, 2, yaml)
            self.assertIn(f"firstwait.yaml:{line}", done.stderr, yaml)
            self.assertIn(word, done.stderr, yaml)

    def test_an_empty_file_says_nothing(self):
        self.assertEqual(self.call("", "diagnose", self.steps).returncode, 0)


if __name__ == "__main__":
    unittest.main()
