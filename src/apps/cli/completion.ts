/** `rollcall completion`: a script for the shell, which knows commands, objects, states and options, and asks no server. */
import { deploymentStates } from '../../domain/values.ts'
import { formats, kinds } from './export-options.ts'
import { filterValues } from './filter-options.ts'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

export const commands: readonly string[] = [
  'watch',
  'get',
  'counts',
  'alerts',
  'wait',
  'export',
  'maintenance',
  'retire',
  'reinstate',
  'login',
  'logout',
  'mcp',
  'serve',
  'demo',
  'simulate',
  'backup',
  'restore',
  'new-epoch',
  'migrate',
  'rebuild',
  'completion',
  'help',
  'version',
]
export const objects: readonly string[] = [
  'deployments',
  'deployment',
  'rollouts',
  'rollout',
  'devices',
  'device',
  'clusters',
  'resources',
]
const states = deploymentStates.map((state) => state.toLowerCase())

/** What may follow a command. */
const nouns: Readonly<Record<string, readonly string[]>> = {
  get: objects,
  export: kinds,
  completion: shells,
  maintenance: ['plan', 'end'],
}
/** What may follow an option. */
const values: Readonly<Record<string, readonly string[]>> = {
  for: [...states, 'converged'],
  ...filterValues,
  format: formats,
}
/** Its value is a file. */
const file = 'output'

type OptionsByCommand = ReadonlyMap<string, readonly string[]>

export function completionOf(shell: Shell, options: OptionsByCommand): string {
  switch (shell) {
    case 'bash':
      return bash(options)
    case 'zsh':
      return `autoload -U +X bashcompinit && bashcompinit\n${bash(options)}`
    case 'fish':
      return fish(options)
  }
}

function fish(options: OptionsByCommand): string {
  const seen = (words: string): string =>
    words
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ')
  const completedBy = (name: string): string => {
    if (name === file) return ' -r -F'
    return values[name] ? ` -x -a '${values[name].join(' ')}'` : ''
  }
  return [
    'complete -c rollcall -f',
    `complete -c rollcall -n __fish_use_subcommand -a '${commands.join(' ')}'`,
    ...Object.entries(nouns).map(
      ([command, words]) => `complete -c rollcall -n '${seen(command)}' -a '${words.join(' ')}'`,
    ),
    ...[...options].flatMap(([command, names]) =>
      names.map((name) => `complete -c rollcall -n '${seen(command)}' -l ${name}${completedBy(name)}`),
    ),
    '',
  ].join('\n')
}

function bash(options: OptionsByCommand): string {
  const known = (words: readonly string[]): string => `known='${words.join(' ')}'`
  const flags = (names: Iterable<string>): string => known([...names].map((name) => `--${name}`))
  return `_rollcall() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} known
  if [ "$command" = get ]; then command="get \${COMP_WORDS[2]}"; fi
  # In bash, = is a word of its own.
  if [ "$before" = = ]; then before=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [ "$word" = = ]; then word=; fi
  case "$before" in
    rollcall) ${known(commands)} ;;
${Object.entries(nouns)
  .map(([command, words]) => `    ${command}) ${known(words)} ;;`)
  .join('\n')}
${Object.entries(values)
  .map(([name, words]) => `    --${name}) ${known(words)} ;;`)
  .join('\n')}
    --${file}|-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
    *) case "$command" in
${[...options].map(([command, names]) => `      '${command}') ${flags(names)} ;;`).join('\n')}
      *) ${flags(new Set([...options.values()].flat()))} ;;
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$known" -- "$word"))
}
complete -F _rollcall rollcall
`
}
