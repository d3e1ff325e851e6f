# SPDX-License-Identifier: Apache-2.0
"""completion.py TALLY bash|zsh|fish: prints a completion for the command TALLY, made from what its
--help says, which the command prints from its own table of verbs and options."""
import re
import subprocess
import sys

DEVICES = ["cpu", "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:aarch64", "cpu:riscv64", "vulkan"]
FILES = {"FILE", "OUT", "OUT.npy", "IN.npy", "OUT.pack"}


def help_of(tally, *verb):
    return subprocess.run([tally, *verb, "--help"], check=True, capture_output=True, text=True).stdout


def read_options(text):
    """Of a verb's help: option -> [its value's name or None, what it is for, values with a line of their own]."""
    options, last = {}, None
    for line in text.split("\n"):
        # An option begins a line, with a value behind it, perhaps, then two blanks and what it is for.
        found = re.match(r"  (--?[a-z-]+)(?: ([A-Z][^ ]*))?(?:  +(.*))?$", line)
        kind = re.match(r"      ([a-z]\w*) {2,}", line)
        if found:
            last = options[found[1]] = [found[2], (found[3] or "").rstrip(";:,."), []]
        elif kind and last:
            last[2].append(kind[1])
        elif not line.startswith(" " * 6):
            last = None
    return options


def read(tally):
    """Verb -> (its first argument's choices, its options with values to choose from)."""
    overview = help_of(tally)
    verbs = {}
    for verb in re.findall(r"^  tally ([a-z]+)(?: |$)", overview, re.M):
        text = help_of(tally, verb)
        usage = text.split("\n")[0]
        options = read_options(text)
        first = re.match(r"usage: tally \w+ ([a-z]+(?:\|[a-z]+)+)", usage)
        for name, option in options.items():
            listed = re.search(re.escape(name) + r" ([a-z0-9]+(?:\|[a-z0-9]+)+)", usage)
            option[2] = listed[1].split("|") if listed else option[2]
            if name == "--device":
                option[2] = DEVICES
        options["--help"] = [None, "what the verb does", []]
        verbs[verb] = (first[1].split("|") if first else [], options)
    if not verbs:
        sys.exit("completion.py: no verbs in the help of " + tally)
    return verbs


def is_file(value):
    return value in FILES or (value or "").startswith("OUT")


def bash(verbs):
    lines = ["# tally(1) completion for bash, made from the command's own table.",
             "_tally()", "{",
             "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]-}",
             "    COMPREPLY=()",
             "    # A colon divides words for bash; what bash-completion has puts them together.",
             "    ! declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref -n : cur prev",
             "    _tally_offer",
             "    ! declare -F __ltrim_colon_completions >/dev/null || __ltrim_colon_completions \"$cur\"",
             "}", "_tally_offer()", "{",
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
             f"        COMPREPLY=($(compgen -W \"{' '.join(verbs)} --help --version\" -- \"$cur\"))",
             "        return", "    fi",
             "    case $verb$prev in"]
    for verb, (_, options) in verbs.items():
        for name, (value, _, choices) in options.items():
            if choices:
                lines.append(f"    {verb}{name}) COMPREPLY=($(compgen -W \"{' '.join(choices)}\" -- \"$cur\")); return ;;")
            elif is_file(value):
                lines.append(f"    {verb}{name}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;")
            elif value:
                lines.append(f"    {verb}{name}) return ;;")
    lines += ["    esac", "    case $verb in"]
    for verb, (first, options) in verbs.items():
        names = " ".join([*first, *options])
        lines.append(f"    {verb}) COMPREPLY=($(compgen -W \"{names}\" -- \"$cur\") $(compgen -f -- \"$cur\")) ;;"
                     if not first else
                     f"    {verb}) COMPREPLY=($(compgen -W \"{names}\" -- \"$cur\")) ;;")
    lines += ["    esac", "}", "complete -o filenames -F _tally tally"]
    return lines


def plain(text):
    """Without what means something within a shell's quotes or zsh's specifications."""
    return re.sub(r"[\[\]:'\\\\]", "", text)


def zsh(verbs):
    lines = ["#compdef tally", "# tally(1) completion for zsh, made from the command's own table.",
             "local context state line", "typeset -A opt_args",
             f"_arguments -C '1:verb:({' '.join(verbs)})' --help --version '*::argument:->argument'",
             "[ \"$state\" = argument ] || return", "case $line[1] in"]
    for verb, (first, options) in verbs.items():
        parts = [f"'1:what:({' '.join(first)})'" if first else "'*:file:_files'"]
        for name, (value, what, choices) in options.items():
            action = f"({' '.join(choices)})".replace(":", "\\:") if choices else "_files" if is_file(value) else " "
            tail = f":{plain(value or name)}:{action}" if value or choices else ""
            parts.append(f"'{name}[{plain(what)}]{tail}'")
        lines.append(f"{verb}) _arguments {' '.join(parts)} ;;")
    return lines + ["esac"]


def fish(verbs):
    lines = ["# tally(1) completion for fish, made from the command's own table.",
             f"complete -c tally -n __fish_use_subcommand -f -a '{' '.join(verbs)}'"]
    for verb, (first, options) in verbs.items():
        here = f"complete -c tally -n '__fish_seen_subcommand_from {verb}'"
        if first:
            lines.append(f"{here} -f -a '{' '.join(first)}'")
        for name, (value, what, choices) in options.items():
            flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            tail = f" -x -a '{' '.join(choices)}'" if choices else " -r" if is_file(value) else " -x" if value else ""
            lines.append(f"{here} {flag}{tail} -d '{plain(what)}'")
    return lines


if __name__ == "__main__":
    made = {"bash": bash, "zsh": zsh, "fish": fish}[sys.argv[2]](read(sys.argv[1]))
    made.insert(made[0].startswith("#compdef"), "# SPDX-License-Identifier: Apache-2.0")  # zsh reads the first line
    print("\n".join(made))
