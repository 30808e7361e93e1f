"""What the command line refuses, and that it says what it takes instead."""
import unittest

from program import Case, run

STEPS = "".join(f'{{"rank":0,"step":{i},"duration":1}}\n' for i in range(20))


class Options(Case):
    def refused(self, *command, names):
        error = run(*command, check=2).stderr.decode()
        for word in names:
            self.assertIn(word, error, command)

    def test_an_empty_word_is_refused_with_the_option_named(self):
        path = self.write("steps.jsonl", STEPS)
        for option in ("--out", "--job", "--log-pattern", "--since"):
            self.refused("diagnose", path, option, "", names=[option])
        self.refused("diagnose", "", names=["INPUT", "empty"])
        self.refused("compare", path, "", names=["AFTER", "empty"])
        self.refused("export", "--perfetto", "", path, names=["--perfetto", "empty"])
        self.refused("bundle", "--out", "", names=["--out", "empty"])

    def test_what_if_takes_only_names_and_values_it_can_use(self):
        path = self.write("steps.jsonl", STEPS)
        what_if = ("what-if", path, "--apply", "loader.more_workers")
        for value in ("-5", "0", "nan", "inf"):
            self.refused(*what_if, "--set", f"loader.num_workers={value}", names=["--set loader.num_workers"])
        self.refused(*what_if, "--set", "loader.workers=4", names=["unknown name", "loader.num_workers"])
        self.refused(*what_if, "--assume", "disk.speed=4",
                     names=["unknown name", "storage.read_bytes_per_second", "loader.seconds_per_sample"])
        self.refused(*what_if, "--assume", "storage.read_bytes_per_second=-1", names=["--assume", "from 1 to"])
        self.refused(*what_if, "--set", "=4", names=["--set =4", "name=number"])
        run(*what_if, "--set", "loader.num_workers=12", "--assume", "storage.read_bytes_per_second=3e9", check=0)

    def test_places_and_processes_must_be_there(self):
        self.refused("doctor", "--root", self.folder / "none", names=["--root", "none"])
        for pid in ("-1", "0", "nan"):
            self.refused("attach", "--pid", pid, names=["--pid", pid, "1 to"])
        self.refused("attach", "--pid", "1", "--for", "nan", names=["--for", "nan"])


class Contradictions(Case):
    def test_two_job_files_that_disagree_are_told_in_the_report(self):
        for name, size in (("a", 1), ("b", 9)):
            (self.folder / name).mkdir()
            (self.folder / name / "job.yaml").write_text(f"job: j\nworld_size: {size}\n")
        self.write("steps.jsonl", STEPS)
        text = " ".join(run("diagnose", self.folder, check=0).stdout.decode().split())
        self.assertIn("b/job.yaml", text)
        self.assertIn("world_size: 9, before 1", text)


if __name__ == "__main__":
    unittest.main()
