# SPDX-License-Identifier: Apache-2.0
"""Completions of an installed tree, asked of bash, zsh and fish themselves."""

import os
import pathlib
import pty
import select
import subprocess
import sys

BASH = """
[ -r /usr/share/bash-completion/bash_completion ] || exit 9
. /usr/share/bash-completion/bash_completion
. "$1/share/bash-completion/completions/tutti"
COMP_LINE=$2 COMP_POINT=${#2}
# As readline takes words apart: at blanks, = and :
read -ra COMP_WORDS <<< "$(sed 's/[=:]/ & /g' <<< "$COMP_LINE")"
[[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_tutti tutti "${COMP_WORDS[COMP_CWORD]}" ''
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Its completion system needs a line editor: what the script hands to it is printed instead.
ZSH = """
compadd() { shift ${@[(i)--]}; print -rl -- $@ }
_describe() { print -rl -- ${(P)@[-1]} }
compset() { PREFIX=${PREFIX#${~2}} }
_files() { print -rl -- ${PREFIX}*(N) }
_normal() {
  if (( CURRENT > 1 )) && [[ $words[1] == tutti ]]; then _tutti; else _files; fi
}
words=("${(@s: :)2}") CURRENT=$#words PREFIX=$words[-1]
. "$1/share/zsh/vendor-completions/_tutti"
"""


def expect(condition, what):
    if not condition:
        sys.exit(f"expected {what}")


def ask(shell, prefix, folder, line):
    """What a shell offers behind the line."""
    environment = dict(os.environ, PATH=f"{prefix / 'bin'}:{os.environ['PATH']}", TERM="dumb",
                       HOME=str(folder), POCL_DEVICES="basic basic", TUTTI_DEVICES="")
    environment.pop("TUTTI_DEVICES")
    command = {
        "bash": ["bash", "-c", BASH, "bash", prefix, line],
        "zsh": ["zsh", "-f", "-c", ZSH, "zsh", prefix, line],
        "fish": ["fish", "--no-config", "-c",
                 f"source {prefix}/share/fish/vendor_completions.d/tutti.fish; complete -C $argv[1]",
                 line],
    }[shell]
    process = subprocess.run([str(word) for word in command], cwd=folder, env=environment, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=120)
    expect(process.returncode == 0, f"{shell} to complete: {process.stdout}{process.stderr}")
    expect(not process.stderr, f"{shell} to print nothing: {process.stderr}")
    return process.stdout


# What follows each line, and what must not.
CASES = (
    ("tutti ", "explain", "documentation"),
    ("tutti run --bal", "--balancer", "--devices"),
    ("tutti run --balancer ", "hguided", "--balancer"),
    ("tutti run --balancer=hg", "hguided", "sigmoid"),
    ("tutti run --devices 0,", "1", "sigmoid"),
    ("tutti explain kernels.cl --kernel ", "blur", "sharpen_not"),
    ("tutti explain ker", "kernels.cl", "taken"),
    ("tutti replay ", "taken", "empty"),
    ("tutti record show ta", "taken", "empty"),
    ("tutti run -- cat ker", "kernels.cl", "--balancer"),
    ("tutti run --summary tutti explain kernels.cl --ker", "--kernel", "--summary"),
)


def check_terminal(prefix, folder):
    """A bash at a terminal, where somebody types: nothing but the completion appears."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        environment = dict(os.environ, PATH=f"{prefix / 'bin'}:{os.environ['PATH']}", TERM="dumb",
                           HOME=str(folder), PS1="> ", INPUTRC="/dev/null")
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)

    def read_until(mark):
        text = ""
        while mark not in text:
            ready, _, _ = select.select([terminal], [], [], 60)
            expect(ready, f"{mark!r} after {text!r}")
            text += os.read(terminal, 4096).decode(errors="replace")
        return text

    def type_in(text):
        os.write(terminal, text.encode())

    type_in(f". {prefix}/share/bash-completion/completions/tutti; "
            "bind 'set enable-bracketed-paste off' 2>/dev/null; echo rea''dy\n")
    read_until("ready\r\n")
    type_in("tutti explain kernels.cl --kernel bl\t")
    read_until("--kernel blur ")
    type_in("\x15tutti run --balancer=hg\t")
    text = read_until("--balancer=hguided ")
    expect("\n" not in text.partition("tutti run")[2], f"one line: {text!r}")
    type_in("\x15exit\n")
    os.waitpid(pid, 0)
    os.close(terminal)


def check_completions(prefix, folder):
    work = pathlib.Path(folder) / "completions"
    for name in ("taken", "empty"):
        (work / name).mkdir(parents=True)
    (work / "taken/calls.tutti").write_text("TuttiCalls1\n")
    (work / "kernels.cl").write_text("kernel void blur(global int* o) { o[0] = 1; }\n"
                                     "// kernel void sharpen_not(global int* o) {}\n")
    for shell in ("bash", "zsh", "fish"):
        for line, wanted, unwanted in CASES:
            output = ask(shell, prefix, work, line)
            expect(wanted in output, f"{shell} to offer {wanted} after {line!r}: {output!r}")
            # What begins otherwise is left to zsh and fish to leave out.
            if shell == "bash" or "-" not in line:
                expect(unwanted not in output,
                       f"{shell} not to offer {unwanted} after {line!r}: {output!r}")
    check_terminal(prefix, work)
