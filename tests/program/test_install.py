"""What `cmake --install` lays down works from there, and needs nothing of the source tree."""
import os
import pathlib
import shutil
import subprocess
import unittest

from program import Case, PROGRAM

BUILD = pathlib.Path(PROGRAM).resolve().parent.parent


@unittest.skipIf(not (BUILD / "cmake_install.cmake").exists() or shutil.which("cmake") is None, "not a build folder")
class Installed(Case):
    def setUp(self):
        super().setUp()
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", "/opt/firstwait"], capture_output=True, text=True,
                              env=dict(os.environ, DESTDIR=str(self.folder)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.root = self.folder / "opt/firstwait"

    def test_a_run_finds_its_library_and_its_hooks(self):
        program = self.write("program.py", "import firstwait.emit, torch\nprint(firstwait.emit.__file__)\nfirstwait.step(samples=1)")
        self.write("fake/torch/__init__.py", "")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FIRSTWAIT")}
        environment["PYTHONPATH"] = f"{self.folder}/fake:{self.root}/lib/firstwait/python"
        result = subprocess.run([self.root / "bin/firstwait", "run", "--out", self.folder / "bundle", "--", "python3", program],
                                capture_output=True, text=True, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith(str(self.root)), result.stdout)
        self.assertEqual(len((self.folder / "bundle/steps.jsonl").read_text().splitlines()), 1)

    def test_the_rest_is_there(self):
        for name in ("bin/firstwait-agent", "include/firstwait/emit.h", "lib/firstwait/libnccl-profiler-firstwait.so",
                     "lib/firstwait/python/site/sitecustomize.py", "share/doc/firstwait/run.md", "share/doc/firstwait/agent.yaml"):
            self.assertTrue((self.root / name).exists(), name)
        unit = (self.root / "lib/systemd/system/firstwait-agent.service").read_text()
        self.assertIn("ExecStart=/opt/firstwait/bin/firstwait-agent --config /etc/firstwait/agent.yaml", unit)
        self.assertFalse(list(self.root.rglob("__pycache__")))


if __name__ == "__main__":
    unittest.main()
