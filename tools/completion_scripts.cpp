// SPDX-License-Identifier: Apache-2.0
// The shells' scripts ask `tutti complete`. They print nothing, and what they start has neither the
// terminal's input nor its errors.
#include "tools/completion.h"

namespace tutti::tools {

std::string bash_completion() {
  return R"script(# bash completion for tutti. Written by `tutti documentation bash`.

_tutti() {
  local words=() starts=() lines=() rest=$COMP_LINE blank word whole cur value i
  COMPREPLY=()
  # Bash takes --option=value and name:value apart: what no space separates is one word.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    blank=${rest%%[![:space:]]*}
    rest=${rest#"$blank"}
    rest=${rest#"$word"}
    [[ $word == *[\\\'\"]* ]] && { word=${word//\\/}; word=${word//[\'\"]/}; }
    if ((i == 0)) || [[ $blank ]] || [[ ! ${COMP_WORDS[i]} ]]; then
      words+=("$word")
      starts+=("$i")
    else
      words[${#words[@]} - 1]+=$word
    fi
  done
  whole=${words[${#words[@]} - 1]}
  cur=${COMP_WORDS[COMP_CWORD]}
  [[ $cur == [=:] ]] && cur=''
  mapfile -t lines < <("${1/#\~/$HOME}" complete -- "${words[@]:1}" 2>/dev/null </dev/null)
  case ${lines[0]} in
    files | folders)
      compopt -o filenames 2>/dev/null
      [[ ${lines[0]} == files ]] && i=-f || i=-d
      mapfile -t COMPREPLY < <(compgen "$i" -- "$cur")
      ;;
    command\ *)  # the application's own completion goes on
      i=${starts[${lines[0]#command } + 1]}
      if ((i >= COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      elif declare -F _command_offset >/dev/null; then
        _command_offset "$i"
      else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      fi
      ;;
    *)
      [[ ${lines[0]} == paths ]] && compopt -o filenames 2>/dev/null
      for value in "${lines[@]:1}"; do
        value=${value%%$'\t'*}
        # Bash wants what it takes for the current word.
        [[ $value == "$whole"* ]] && COMPREPLY+=("${value:${#whole} - ${#cur}}")
      done
      [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
      ;;
  esac
}
complete -F _tutti tutti
)script";
}

std::string zsh_completion() {
  return R"script(#compdef tutti
# Written by `tutti documentation zsh`.
_tutti() {
  local -a lines values
  local kind line value
  lines=("${(@f)$(${(Q)words[1]} complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" \
    2>/dev/null </dev/null)}")
  kind=$lines[1]
  shift lines
  case $kind in
    files | folders)
      [[ $PREFIX == --*=* ]] && compset -P '*='
      if [[ $kind == files ]]; then _files; else _files -/; fi
      ;;
    command\ *)  # the application's own completion goes on
      shift $((${kind#command } + 1)) words
      ((CURRENT -= ${kind#command } + 1))
      _normal
      ;;
    paths)
      for line in $lines; do values+=("${line%%$'\t'*}"); done
      compadd -f -S '' -- $values
      ;;
    *)
      if [[ "$lines" != *$'\t'* ]]; then
        compadd -- $lines
        return
      fi
      for line in $lines; do
        value=${${line%%$'\t'*}//:/\\:}
        [[ $line == *$'\t'* ]] && value+=":${line#*$'\t'}"
        values+=("$value")
      done
      ((${#values})) && _describe -t values value values
      ;;
  esac
}
_tutti "$@"
)script";
}

std::string fish_completion() {
  return R"script(# Written by `tutti documentation fish`.
function __tutti_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines (command $words[1] complete -- $words[2..-1] $current 2>/dev/null </dev/null)
    set -l before (string match -r -- '^--[^=]*=' $current)
    switch "$lines[1]"
        case files
            __fish_complete_path (string replace -r -- '^--[^=]*=' '' $current) |
                while read -l path
                    printf '%s%s\n' "$before" $path
                end
        case folders
            __fish_complete_directories (string replace -r -- '^--[^=]*=' '' $current) |
                while read -l path
                    printf '%s%s\n' "$before" $path
                end
        case 'command *' # the application's own completion goes on
            set -l start (math (string split ' ' -- $lines[1])[2] + 2)
            complete -C (string join ' ' -- (string escape -- $words[$start..-1]) $current)
        case '*'
            printf '%s\n' $lines[2..-1]
    end
end
complete -c tutti -f -a '(__tutti_complete)'
)script";
}

}  // namespace tutti::tools
