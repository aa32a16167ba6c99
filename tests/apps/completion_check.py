# SPDX-License-Identifier: Apache-2.0
"""Completions of an installed tree, asked of bash, zsh and fish themselves."""

import fcntl
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import termios

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
    ("tutti run --devices 0,", "0,1", "0,0"),
    ("tutti explain kernels.cl --kernel ", "blur", "sharpen_not"),
    ("tutti explain ker", "kernels.cl", "taken"),
    ("tutti replay ", "taken", "empty"),
    ("tutti doctor ", "OpenMM", "kernels.cl"),
    ("tutti record show ta", "taken", "empty"),
    ("tutti run -- cat ker", "kernels.cl", "--balancer"),
    ("tutti run --summary tutti explain kernels.cl --ker", "--kernel", "--summary"),
)


# How a shell is started bare, what loads the completion, and what somebody types at its prompt: up
# to the tab, and what stands there then.
TERMINALS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             ". {prefix}/share/bash-completion/completions/tutti; "
             "bind 'set enable-bracketed-paste off' 2>/dev/null", (
        ("tutti explain kernels.cl --kernel bl", "--kernel blur "),
        ("tutti run --balancer=hg", "--balancer=hguided "))),
    "zsh": (["zsh", "-f", "-i"],
            "fpath=({prefix}/share/zsh/vendor-completions $fpath); unsetopt zle_bracketed_paste; "
            "PS1='> '; autoload -Uz compinit && compinit -u -D", (
        ("tutti ", "-- Show which kernels of a file are split"),
        ("tutti run --bala", "--balancer "),
        ("tutti run --balancer=hg", "--balancer=hguided "),
        ("tutti run --balancer hg", "--balancer hguided "),
        ("tutti run --devices 0,", "0,1"),
        ("tutti explain kernels.cl --kernel bl", "--kernel blur "),
        ("tutti explain ker", "kernels.cl "),
        ("tutti record show ta", "show taken"),
        ("tutti run -- cat ker", "cat kernels.cl "))),
}


def check_terminal(shell, prefix, folder):
    """A shell at a terminal, where somebody types: nothing but the completion appears."""
    command, loading, cases = TERMINALS[shell]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        environment = dict(os.environ, PATH=f"{prefix / 'bin'}:{os.environ['PATH']}", TERM="dumb",
                           HOME=str(folder), ZDOTDIR=str(folder), PS1="> ", INPUTRC="/dev/null",
                           POCL_DEVICES="basic basic")
        environment.pop("TUTTI_DEVICES", None)
        os.execvpe(command[0], command, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))

    def read_until(mark):
        text = ""
        while mark not in text:
            ready, _, _ = select.select([terminal], [], [], 60)
            expect(ready, f"{shell} to show {mark!r} after {text!r}")
            text += os.read(terminal, 4096).decode(errors="replace")
        return text

    def type_in(text):
        os.write(terminal, text.encode())

    type_in(loading.format(prefix=prefix) + "; echo rea''dy\n")
    read_until("ready\r\n")
    for line, shown in cases:
        type_in(line + "\t")
        text = read_until(shown)
        if shown.endswith(" "):  # the only one: it stands behind what was typed
            expect("\n" not in text.partition("tutti")[2], f"one line in {shell}: {text!r}")
        type_in("\x15")
    type_in("exit\n")
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
    for shell in TERMINALS:
        check_terminal(shell, prefix, work)
