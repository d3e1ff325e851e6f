# SPDX-License-Identifier: Apache-2.0
"""completion.py TALLY bash|zsh|fish: prints a completion for the command TALLY, made from what its
--help says, which the command prints from its own table of verbs and options. Words, devices and
profiles are asked of the command when they are completed (tally --complete)."""
import re
import subprocess
import sys

# What the value of an option, or an argument, is: by its name in the usage line.
ASKED = {"WORD": "word", "D": "device", "P": "profile"}
FILES = {"FILE", "IN.npy"}


def help_of(tally, *verb):
    return subprocess.run([tally, *verb, "--help"], check=True, capture_output=True, text=True).stdout


class Option:
    """value: its name, or None; what: what the option is for; choices: values with a line of their own."""

    def __init__(self, value, what):
        self.value, self.what, self.choices = value, what, []

    def kind(self):
        """choices, word, device, profile, file, value or, without a value, flag."""
        if self.choices:
            return "choices"
        asked = ASKED.get((self.value or "").removesuffix(",..."))  # one, or several with commas
        if asked:
            return asked
        return "file" if is_file(self.value) else "value" if self.value else "flag"


class Verb:
    """first: what its first argument is, a kind as above; choices: where it is one of several; every: all
    arguments are like the first."""

    def __init__(self, usage, text):
        one_of = re.match(r"([a-z]+(?:\|[a-z]+)+)", usage)
        self.choices = one_of[1].split("|") if one_of else []
        argument = re.match(r"(?:\[NAME=\])?([A-Z]+)(\.\.\.)?", usage)
        self.first = "choices" if one_of else ASKED.get(argument[1], "file") if argument else "file"
        self.every = bool(argument and argument[2])
        self.options = read_options(text)
        for name, value in re.findall(r"(?<![\w-])(--?[a-z-]+) ([A-Z]\S*[A-Za-z])", usage):
            self.options.setdefault(name, Option(value, ""))  # that the help tells of in another way
        for name, option in self.options.items():
            listed = re.search(re.escape(name) + r" ([a-z0-9]+(?:\|[a-z0-9]+)+)", usage)
            option.choices = listed[1].split("|") if listed else option.choices
        self.options["--help"] = Option(None, "what the verb does")

    def valued(self):
        return [name for name, option in self.options.items() if option.kind() != "flag"]


def is_file(value):
    return value in FILES or (value or "").startswith("OUT")


def read_options(text):
    """Of a verb's help: option -> Option."""
    options, last = {}, None
    for line in text.split("\n"):
        # An option begins a line, with a value behind it, perhaps, then two blanks and what it is for.
        found = re.match(r"  (--?[a-z-]+)(?: ([A-Z][^ ]*))?(?: +(.*))?$", line)
        kind = re.match(r"      ([a-z]\w*) {2,}", line)
        if found:
            last = options[found[1]] = Option(found[2], (found[3] or "").rstrip(";:,."))
        elif kind and last:
            last.choices.append(kind[1])
        elif not line.startswith(" " * 6):
            last = None
    return options


def read(tally):
    """Verb's name -> Verb."""
    verbs = {}
    for name in re.findall(r"^  tally ([a-z]+)(?: |$)", help_of(tally), re.M):
        text = help_of(tally, name)
        verbs[name] = Verb(text.split("\n")[0].removeprefix(f"usage: tally {name} "), text)
    if not verbs:
        sys.exit("completion.py: no verbs in the help of " + tally)
    return verbs


# bash cuts a word at each ':' and '=', and takes quotes for a part of it. So the line is read anew, and
# of each offer that part is left out which stands before bash's own beginning of the word.
BASH = r"""
_tally()
{
    local line=${COMP_LINE:0:COMP_POINT} tally=${COMP_WORDS[0]/#\~/$HOME}
    local words=() word= begun= quote= plain=1 i c
    for ((i = 0; i < ${#line}; i++)); do
        c=${line:i:1}
        if [[ -n $quote && $c == "$quote" ]]; then
            quote=
        elif [[ -z $quote && ( $c == \' || $c == \" ) ]]; then
            quote=$c begun=1 plain=
        elif [[ -z $quote && $c == [[:blank:]] ]]; then
            [[ -z $begun ]] || words+=("$word")
            word= begun= plain=1
        else
            if [[ $c == \\ && $quote != \' ]]; then
                i=$((i + 1)) c=${line:i:1} plain=
            fi
            word+=$c begun=1
        fi
    done
    local front= value=$word prev=${words[${#words[@]} - 1]}
    if [[ $word == --*=* ]]; then
        front=${word%%=*}= value=${word#*=} prev=${word%%=*}
    fi
    COMPREPLY=()
    _tally_offer
    local cut=0
    if [[ -n $plain ]]; then
        for ((i = 0; i < ${#word}; i++)); do
            c=${word:i:1}
            [[ ( $c != : && $c != = ) || $COMP_WORDBREAKS != *"$c"* ]] || cut=$((i + 1))
        done
    fi
    for i in "${!COMPREPLY[@]}"; do
        [[ ${COMPREPLY[i]} != *[:=] ]] || compopt -o nospace 2>/dev/null
        COMPREPLY[i]=$front${COMPREPLY[i]}
        COMPREPLY[i]=${COMPREPLY[i]:cut}
    done
}
_tally_among() # CHOICE...: those that begin like the word
{
    local choice
    for choice in "$@"; do
        [[ $choice != "$value"* ]] || COMPREPLY+=("$choice")
    done
}
_tally_ask() # word|device|profile
{
    local offer
    while IFS= read -r offer; do
        COMPREPLY+=("$offer")
    done < <(command "$tally" --complete "$1" "$value" 2>/dev/null)
}
_tally_files()
{
    local name
    compopt -o filenames 2>/dev/null
    while IFS= read -r name; do
        COMPREPLY+=("$name")
    done < <(compgen -f -- "$value")
}
# FLAGS: options that take a value. Whether no argument stands before the word.
_tally_is_first()
{
    local i flags=" $* "
    for ((i = 2; i < ${#words[@]}; i++)); do
        if [[ $flags == *" ${words[i]} "* ]]; then
            i=$((i + 1))
        elif [[ ${words[i]} != -?* ]]; then
            return 1
        fi
    done
}
""".strip().split("\n")


def bash_of(kind, choices):
    return {"choices": "_tally_among " + " ".join(choices), "file": "_tally_files", "value": ":",
            "profile": "_tally_ask profile; _tally_files"}.get(kind, "_tally_ask " + kind)


def bash(verbs):
    lines = ["# tally(1) completion for bash, made from the command's own table.", *BASH,
             "_tally_offer()", "{",
             "    if [[ ${#words[@]} -eq 1 ]]; then",
             f"        _tally_among {' '.join(verbs)} --help --version",
             "        return", "    fi",
             "    case ${words[1]}$prev in"]
    for verb, v in verbs.items():
        lines += [f"    {verb}{name}) {bash_of(o.kind(), o.choices)}; return ;;"
                  for name, o in v.options.items() if o.kind() != "flag"]
    lines += ["    esac", "    if [[ $word == -* ]]; then", "        case ${words[1]} in"]
    lines += [f"        {verb}) _tally_among {' '.join(v.options)} ;;" for verb, v in verbs.items()]
    lines += ["        esac", "        return", "    fi", "    case ${words[1]} in"]
    for verb, v in verbs.items():
        first = bash_of(v.first, v.choices)
        if v.first != "file" and not v.every:
            first = f"if _tally_is_first {' '.join(v.valued())}; then {first}; else _tally_files; fi"
        lines.append(f"    {verb}) {first} ;;")
    return lines + ["    esac", "}", "complete -F _tally tally"]


def plain(text):
    """Without what means something within a shell's quotes or zsh's specifications."""
    return re.sub(r"[\[\]:'\\\\]", "", text)


ZSH = r"""
_tally_ask() # word|device|profile: a line that ends with ':' or '=' goes on
{
    local -a offers open
    offers=(${(f)"$(command $tally --complete $1 ${(Q)PREFIX} 2>/dev/null)"})
    open=(${(M)offers:#*[:=]})
    offers=(${offers:#*[:=]})
    compadd -S '' -a open
    compadd -a offers
}
_tally_profile() { _tally_ask profile; _files }
""".strip().split("\n")


def zsh_of(kind, choices):
    return {"choices": f"({' '.join(choices)})", "file": "_files", "value": " ", "profile": "_tally_profile"}.get(
        kind, "{_tally_ask " + kind + "}")


def zsh(verbs):
    lines = ["#compdef tally", "# tally(1) completion for zsh, made from the command's own table.", *ZSH,
             "local context state line tally=${~words[1]}", "typeset -A opt_args",
             f"_arguments -C '1:verb:({' '.join(verbs)})' --help --version '*::argument:->argument'",
             "[ \"$state\" = argument ] || return", "case $line[1] in"]
    for verb, v in verbs.items():
        first = f"{v.first}:{zsh_of(v.first, v.choices)}'"
        parts = ["'*:" + first] if v.every or v.first == "file" else ["'1:" + first]
        parts += [] if v.choices or v.every or v.first == "file" else ["'*:file:_files'"]
        for name, o in v.options.items():
            kind = o.kind()
            tail = f":{plain(o.value or name)}:{zsh_of(kind, o.choices)}" if kind != "flag" else ""
            parts.append(f"'{name}[{plain(o.what)}]{tail}'")
        lines.append(f"{verb}) _arguments {' '.join(parts)} ;;")
    return lines + ["esac"]


FISH = r"""
function __tally_ask # word|device|profile
    set -l words (commandline -opc)
    command $words[1] --complete $argv[1] (commandline -ct | string trim -l -c '\'"' | string replace -r '^--[a-z-]+=' '') 2>/dev/null
end
function __tally_is_first # VERB OPTION...: of these, which take a value
    set -l words (commandline -opc)
    set -l skip 0
    test "$words[2]" = "$argv[1]"; or return 1
    for word in $words[3..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word $argv[2..-1]
            set skip 1
        else if not string match -q -- '-?*' $word
            return 1
        end
    end
end
""".strip().split("\n")


def fish(verbs):
    lines = ["# tally(1) completion for fish, made from the command's own table.", *FISH,
             f"complete -c tally -n __fish_use_subcommand -f -a '{' '.join(verbs)}'"]
    for verb, v in verbs.items():
        here = f"complete -c tally -n '__fish_seen_subcommand_from {verb}'"
        first = here if v.every else f"complete -c tally -n '__tally_is_first {verb} {' '.join(v.valued())}'"
        if v.first == "choices":
            lines.append(f"{here} -f -a '{' '.join(v.choices)}'")
        elif v.first != "file":
            lines.append(f"{first} -f -a '(__tally_ask {v.first})'")
        for name, o in v.options.items():
            flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            kind = o.kind()
            tail = {"choices": f" -x -a '{' '.join(o.choices)}'", "file": " -r", "value": " -x", "flag": "",
                    "profile": " -r -a '(__tally_ask profile)'"}.get(kind, f" -x -a '(__tally_ask {kind})'")
            lines.append(f"{here} {flag}{tail} -d '{plain(o.what)}'")
    return lines


if __name__ == "__main__":
    made = {"bash": bash, "zsh": zsh, "fish": fish}[sys.argv[2]](read(sys.argv[1]))
    made.insert(made[0].startswith("#compdef"), "# SPDX-License-Identifier: Apache-2.0")  # zsh reads the first line
    print("\n".join(made))
