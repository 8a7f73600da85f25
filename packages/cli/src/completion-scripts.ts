import type { Command } from 'commander';

/** What may follow one command: subcommands and flags. `path` is without `muster`. */
interface Place {
  readonly path: readonly string[];
  readonly words: readonly { readonly word: string; readonly about: string }[];
}

function places(program: Command): Place[] {
  const found: Place[] = [];
  const visit = (command: Command, path: readonly string[]): void => {
    const help = command.createHelp();
    const children = help.visibleCommands(command).filter((child) => child.name() !== 'help');
    const flags = help
      .visibleOptions(command)
      .flatMap((option) =>
        option.long === undefined || option.long === null ? [] : [{ word: option.long, about: option.description }],
      );
    found.push({
      path,
      words: [...children.map((child) => ({ word: child.name(), about: child.summary() })), ...flags],
    });
    for (const child of children) visit(child, [...path, child.name()]);
  };
  visit(program, []);
  return found;
}

/** The words typed so far, flags left out, choose the place; files are offered after flags that are unknown here. */
export function bashCompletion(program: Command): string {
  const cases = places(program).map(
    ({ path, words }) => `    '${path.join(' ')}') words='${words.map(({ word }) => word).join(' ')}' ;;`,
  );
  return `# muster completion for bash
_muster() {
  local current="\${COMP_WORDS[COMP_CWORD]}" place='' words='' word
  local known='${knownPaths(program)}'
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) continue ;; esac
    case "$known" in *"|\${place:+$place }$word|"*) place="\${place:+$place }$word" ;; esac
  done
  case "$place" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ \${#COMPREPLY[@]} -gt 0 ] && return
  case "$current" in -*) return ;; esac
  # The server knows the rest. Words of bash end at colons, which are part of ours.
  local line="\${COMP_LINE:0:COMP_POINT}" given
  read -ra given <<< "$line"
  case "$line" in *' ') given+=('') ;; esac
  local whole="\${given[-1]}"
  whole="\${whole#\\"}"
  whole="\${whole#\\'}"
  given[-1]="$whole"
  mapfile -t COMPREPLY < <(muster __complete "\${given[@]:1}" 2>/dev/null)
  case "$COMP_WORDBREAKS" in *:*) COMPREPLY=("\${COMPREPLY[@]#"\${whole%"\${whole##*:}"}"}") ;; esac
  case "\${COMPREPLY[*]}" in *:) compopt -o nospace 2>/dev/null ;; esac
}
complete -o default -F _muster muster
`;
}

export function zshCompletion(program: Command): string {
  const cases = places(program).map(({ path, words }) => {
    const described = words.map(({ word, about }) => `'${zshWord(word)}:${zshText(about)}'`).join(' ');
    return `    '${path.join(' ')}') words_here=(${described}) ;;`;
  });
  return `#compdef muster
# muster completion for zsh
_muster() {
  local place='' word
  local -a words_here
  local known='${knownPaths(program)}'
  for word in \${words[2,CURRENT-1]}; do
    case "$word" in -*) continue ;; esac
    case "$known" in *"|\${place:+$place }$word|"*) place="\${place:+$place }$word" ;; esac
  done
  case "$place" in
${cases.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" != -* ]]; then
    local -a known_to_server
    known_to_server=("\${(@f)$(muster __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    [ -n "$known_to_server" ] && compadd -S '' -a known_to_server
  fi
  _describe 'muster' words_here || _files
}
if [ "$funcstack[1]" = "_muster" ]; then _muster; else compdef _muster muster; fi
`;
}

export function fishCompletion(program: Command): string {
  const lines = places(program).flatMap(({ path, words }) =>
    words.map(({ word, about }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c muster -n '__muster_at "${path.join(' ')}"' ${what} -d '${fishText(about)}'`;
    }),
  );
  return `# muster completion for fish
function __muster_at
  set -l place ''
  set -l known '${knownPaths(program)}'
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l next (string trim "$place $word")
    string match -q -- "*|$next|*" $known; and set place $next
  end
  test "$place" = "$argv[1]"
end
function __muster_ask
  muster __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c muster -a '(__muster_ask)'
${lines.join('\n')}
`;
}

/** `|push|push start|…|`: how a script tells a subcommand from an argument. */
function knownPaths(program: Command): string {
  return `|${places(program)
    .map(({ path }) => path.join(' '))
    .filter((path) => path !== '')
    .join('|')}|`;
}

function zshWord(word: string): string {
  return word.replaceAll(':', '\\:');
}

function zshText(text: string): string {
  return text.replaceAll("'", "'\\''").replaceAll(':', '\\:');
}

function fishText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}
