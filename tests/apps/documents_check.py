#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that the documents name is run, and does what they say.

usage: documents_check.py SOURCES BUILD [DOCUMENT…]

- Commands in blocks of code are run in a folder that looks like a checkout with its build folder,
  documents.toml says how. Where a block shows `$ command` and its output, the output is compared;
  `…` stands for anything. A block whose first line is a comment `// name.cl` or `# name.py` is that
  file.
- Synopses (`program [--option X]…`) and commands between back quotes: program, sub-command, options
  and make's goals exist.
- Files, links, and variables TUTTI_… that are named exist.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib

RULES = tomllib.loads(pathlib.Path(__file__).with_name("documents.toml").read_text())
SETTING = r"(?:[A-Z][A-Z_]*=(?:\"[^\"]*\"|\S*) )*"
PROGRAMS = (r"(?:\$ |(?:build/bin/)?tutti(?:-[a-z-]+)?(?= |$)|make(?= |$)|apt-get |tar |rpm |cmake |ninja |ctest|git "
            r"|mkdir |dnf |export |sudo |(?:scripts|bench|demo|conformance|packaging|tests/apps)/[a-z_-]+"
            r"(?:\.py|\.sh)?(?= |$))")
COMMAND = re.compile(f"^{SETTING}{PROGRAMS}")
ROOMS = "base|backends|device_virtual|icd|kernel_compiler|platform|record|scheduler|tools"
FOLDERS = ROOMS + "|docs|tests|scripts|cmake|packaging|bench|demo|conformance"
PATH = re.compile(rf"^(?:\.\./)*((?:{FOLDERS})/[\w./-]+|[\w-]+\.md)$")
SAMPLE = """
struct range { int from, to; };
kernel void blur(global float* out, int n, int2 size, struct range range) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < size.x && y < size.y && x + range.to < n) out[y * size.x + x] = TILE;
}
"""


class Failures:
    def __init__(self):
        self.count = 0

    def add(self, place, text):
        self.count += 1
        print(f"{place}: {text}", file=sys.stderr)


class Block:
    def __init__(self, line, language):
        self.line, self.language, self.lines = line, language, []


def blocks_of(text):
    """The blocks of code of a document, and its text without them."""
    blocks, prose, block, fence, before = [], [], None, None, ""
    for number, line in enumerate(text.split("\n"), 1):
        fenced = re.match(r"^( *)```(\w*)$", line)
        if fence is not None:
            if fenced:
                fence = block = None
            else:
                block.lines.append(line[len(fence):] if line.startswith(fence) else line)
        elif fenced:
            fence = fenced.group(1)
            block = Block(number, fenced.group(2) or "text")
            blocks.append(block)
        elif line.startswith("    ") and (block or not before):
            if not block:
                block = Block(number, "text")
                blocks.append(block)
            block.lines.append(line[4:])
        elif line.strip() or not block:
            block = None
            prose.append((number, line))
        else:
            block.lines.append("")
        before = line.strip()
    for block in blocks:
        margin = min((len(line) - len(line.lstrip()) for line in block.lines if line.strip()),
                     default=0)
        block.lines = [line[margin:] for line in block.lines]
    return blocks, prose


def without_comment(line):
    return re.sub(r"\s+#\s.*$", "", line).strip()


def matches(shown, actual):
    """Whether the shown lines stand in the output, `…` for anything. The first that does not."""
    at = 0
    gap = False
    for line in shown:
        if line.strip() == "…":
            gap = True
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"\s*$")
        while at < len(actual) and not pattern.match(actual[at]):
            if not gap:
                return line
            at += 1
        if at == len(actual):
            return line
        at += 1
        gap = False
    return None


class Checker:
    def __init__(self, sources, build, failures):
        self.sources, self.build, self.failures = sources, build, failures
        self.helps = {}
        self.ran = self.skipped = 0
        self.variables = {option["variable"] for option in json.loads(subprocess.run(
            [build / "bin/tutti", "config", "--json"], stdout=subprocess.PIPE,
            check=True).stdout)["options"]}
        self.commands = set(re.findall(r"^  ([a-z]+) ", self.help_of(["tutti"]).split(
            "Subcommands:")[1].split("Environment")[0], re.MULTILINE)) | {"help", "documentation"}

    # ---- where commands run ----

    def make_folder(self, folder):
        for entry in self.sources.iterdir():
            # `record` is the sources' folder of that name here, and a record in the documents.
            if entry.name not in ("out", "record") and not entry.name.startswith(("build", ".")):
                (folder / entry.name).symlink_to(entry)
        (folder / "build").symlink_to(self.build)
        (folder / "include").mkdir()
        (folder / "sample.cl").write_text(SAMPLE.replace("TILE", "1"))
        (folder / "node.toml").write_text(self.scenario())
        self.folder = folder
        self.environment = dict(os.environ, PATH=f"{self.build / 'bin'}:{os.environ['PATH']}",
                                HOME=str(folder), BUILD=str(self.build), TERM="dumb")
        bench = "tutti-bench --platform Tutti --size 1000 --repeat 1 saxpy"
        for command in (f"TUTTI_TRACE=t.json {bench}", f"TUTTI_RECORD=record {bench}"):
            status, output = self.shell(command)
            if status != 0:
                sys.exit(f"{command}: {output}")

    def scenario(self):
        """The scenario that docs/balancers.md shows."""
        blocks, _ = blocks_of((self.sources / "docs/balancers.md").read_text())
        return "\n".join(next(block.lines for block in blocks if "[[device]]" in block.lines))

    def shell(self, command, environment=None):
        process = subprocess.run(["bash", "-c", command], cwd=self.folder, text=True,
                                 env=environment or self.environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return process.returncode, process.stdout

    # ---- what programs know ----

    def help_of(self, words):
        key = tuple(words)
        if key not in self.helps:
            for folder in (self.build / "bin", self.sources):
                if (folder / words[0]).is_file():
                    break
            else:
                return None
            if not os.access(folder / words[0], os.X_OK):
                return None
            self.helps[key] = subprocess.run(
                [folder / words[0], *words[1:], "--help"], text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        return self.helps[key]

    def check_options(self, place, text, program=None):
        """Program, sub-command and options of a command that is not run."""
        words = re.sub(f"^{SETTING}", "", text).removeprefix("$ ").removeprefix("sudo ").replace("build/bin/", "").split()
        name = program or words[0]
        if name == "none" or name in ("apt-get", "chmod", "tar", "rpm", "git", "dnf"):
            return
        if name == "make":
            goals = [word for word in words[1:] if re.fullmatch(r"[a-z][a-z-]*", word)]
            settings = [word for word in words[1:] if "=" in word]
            status, output = self.shell(shlex.join(["make", "-n", "SETUP=no", *goals, *settings]))
            if status != 0:
                self.failures.add(place, f"make {goals}: {output[-300:]}")
            return
        if name in ("cmake", "ninja", "ctest"):
            cache = (self.build / "CMakeCache.txt").read_text()
            for variable in re.findall(r"-D(\w+)=", text):
                if not re.search(rf"^{variable}:", cache, re.MULTILINE):
                    self.failures.add(place, f"no CMake variable {variable}")
            return
        command = [name]
        if name == "tutti":
            ours = words[1:words.index("--")] if "--" in words else words[1:]
            subs = [word for word in ours if re.fullmatch("[a-z]+", word)]
            if not subs:
                return
            if subs[0] not in self.commands:
                self.failures.add(place, f"tutti has no command {subs[0]}")
                return
            command += subs[:2] if subs[0] in ("record", "model") else subs[:1]
            words = ours
        known = self.help_of(command)
        if known is None:
            self.failures.add(place, f"there is no program {name}, or it may not be executed")
            return
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]+|(?<= )-[a-z](?= )", " ".join(words)):
            if not option.startswith("--benchmark_") and option not in ("-h", "--help") and \
                    not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known):
                self.failures.add(place, f"{' '.join(command)} has no option {option}")

    # ---- commands ----

    def run(self, place, command, shown=None):
        for old, new in RULES["placeholders"].items():
            command = re.sub(rf"(?<![\w.]){re.escape(old)}(?![\w.])", new, command)
        command = re.sub(r"\bpython3(?= )", sys.executable, command)
        rule = next((rule for rule in RULES["rule"] if re.search(rule["match"], command)), {})
        if "skip" in rule:
            self.skipped += 1
            self.check_options(place, command, rule.get("program"))
            return
        if "dry" in rule:
            command = re.search(rule["match"], command).expand(rule["dry"])
        elif "add" in rule:
            command += f" {rule['add']}"
        environment = self.environment
        if "tutti doctor" in command:  # the machine as it is
            environment = {name: value for name, value in environment.items()
                           if name not in ("TUTTI_VENDORS", "POCL_DEVICES", "RUSTICL_ENABLE")}
        if not re.search(r"tutti run|OCL_ICD_VENDORS", command) and "tutti " in command:
            environment = {name: value for name, value in environment.items()
                           if name != "OCL_ICD_VENDORS"}
        status, output = self.shell(command, environment)
        self.ran += 1
        if status != 0:
            self.failures.add(place, f"`{command}` ended with {status}:\n{output[-2000:]}")
        elif shown:
            missing = matches(shown, output.splitlines())
            if missing is not None:
                self.failures.add(place, f"`{command}` does not print\n  {missing}\nbut\n{output}")

    def check_block(self, name, block):
        place = f"{name}:{block.line}"
        file = re.match(r"^(?://|#) ([\w-]+\.(?:cl|py))$", block.lines[0])
        if file:
            (self.folder / file.group(1)).write_text("\n".join(block.lines) + "\n")
            return
        text = "\n".join(block.lines)
        if not any(COMMAND.match(line) for line in block.lines):
            return
        if re.search(r"\[-", text):  # a synopsis
            for line in re.sub(r"\n +(?=\[)", " ", text).split("\n"):
                if line.strip():
                    self.check_options(place, without_comment(line))
            return
        if block.lines[0].startswith("$ "):
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, *shown = part.rstrip().split("\n")
                self.run(place, without_comment(command), shown)
            return
        previous = ""
        for line in re.sub(r" *\\\n *", " ", text).split("\n"):
            line = without_comment(line)
            if re.fullmatch(r"[A-Z]=\S+", line):
                previous += f"{line}; "
            elif line:
                self.run(place, previous + line)

    def check_prose(self, name, lines):
        document = self.sources / name
        for number, line in lines:
            place = f"{name}:{number}"
            for target in re.findall(r"\]\(([^)#:]+)\)", line):
                if not (document.parent / target).exists():
                    self.failures.add(place, f"the link {target} leads nowhere")
            for span in re.findall(r"`([^`]+)`", line):
                path = PATH.match(span)
                if COMMAND.match(span) and " " in span:
                    self.check_options(place, span)
                made_later = re.search(r"[A-Z]{4}[^/]*$|/out/", span.rpartition(".")[0] or span)
                if path and not made_later and not any((folder / path.group(1)).exists() for folder in
                                    (self.sources, document.parent)):
                    self.failures.add(place, f"there is no {path.group(1)}")

    def check_variables(self, name, text):
        for variable in sorted(set(re.findall(r"\bTUTTI_[A-Z_]*[A-Z]\b(?!\*)", text))):
            if variable in self.variables:
                continue
            # Not the driver's: of the build, or of a test program.
            found = subprocess.run(
                ["grep", "-rqw", "--include=*.cpp", "--include=*.cmake", "--include=CMakeLists.txt",
                 "--include=*.sh", variable, *ROOMS.split("|"), "cmake", "tests", "bench",
                 "scripts"], cwd=self.sources)
            if found.returncode != 0:
                self.failures.add(name, f"there is no {variable}")

    def check(self, name):
        text = (self.sources / name).read_text()
        blocks, prose = blocks_of(text)
        with tempfile.TemporaryDirectory() as folder:
            self.make_folder(pathlib.Path(folder))
            for block in blocks:
                self.check_block(name, block)
            self.check_prose(name, prose)
        self.check_variables(name, text)


def documents_of(sources):
    for pattern in ("*.md", "docs/*.md", "docs/design/*.md", "*/README.md", "tests/*/README.md"):
        for document in sorted(sources.glob(pattern)):
            name = str(document.relative_to(sources))
            if not name.startswith("build"):
                yield name


def main():
    sources, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    failures = Failures()
    checker = Checker(sources, build, failures)
    documents = sys.argv[3:] or list(dict.fromkeys(documents_of(sources)))
    for name in documents:
        checker.check(name)
    print(f"{len(documents)} documents: {checker.ran} commands run, {checker.skipped} only looked up, "
          f"{failures.count} wrong")
    return 1 if failures.count or not checker.ran else 0


if __name__ == "__main__":
    sys.exit(main())
