"""Where output goes, and what it must not do there."""
import subprocess
import unittest

from program import PROGRAM, Case, run

STEPS = "".join(f'{{"rank":0,"step":{i},"duration":1}}\n' for i in range(20))


class Output(Case):
    def test_a_full_disk_behind_standard_output_is_an_error(self):
        path = self.write("steps.jsonl", STEPS)
        for form in ("text", "json", "html"):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([PROGRAM, "diagnose", str(path), "--format", form], stdout=full,
                                        stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 2, form)
            self.assertIn(b"No space left", result.stderr)

    def test_an_input_is_not_written_over(self):
        path = self.write("steps.jsonl", STEPS)
        for command in (("diagnose", path, "--out", path), ("diagnose", self.folder, "--out", path),
                        ("export", "--perfetto", path, path), ("compare", path, path, "--out", path)):
            self.assertIn(b"would replace an input", run(*command, check=2).stderr, command)
            self.assertEqual(path.read_text(), STEPS)

    def test_the_next_command_can_be_pasted_into_a_shell(self):
        path = self.write("it's; id $(x).jsonl", STEPS)
        text = run("diagnose", path, check=0).stdout.decode()
        line = " ".join(text[text.index("\nNEXT"):].split())
        self.assertIn("'\\''s; id $(x).jsonl'", line)


if __name__ == "__main__":
    unittest.main()
