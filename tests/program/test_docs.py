"""What the documents say of the program is what the program says."""
import subprocess
import sys
import unittest

from program import PROGRAM, ROOT


class Documents(unittest.TestCase):
    def check(self, tool):
        done = subprocess.run([sys.executable, ROOT / "tools" / tool, "--check", PROGRAM], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_cause_has_a_page_in_step_with_its_descriptor(self):
        self.check("cause_docs.py")

    def test_the_readme_shows_what_the_program_prints(self):
        self.check("readme.py")


if __name__ == "__main__":
    unittest.main()
