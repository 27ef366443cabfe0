/** `rollcall completion`: a script for the shell, which knows commands, objects, states and options, and asks no server. */
import { deploymentStates } from '../domain/values.ts'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

export const commands: readonly string[] = [
  'watch',
  'get',
  'counts',
  'alerts',
  'wait',
  'export',
  'login',
  'logout',
  'serve',
  'demo',
  'simulate',
  'new-epoch',
  'completion',
  'help',
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
const goals = [...states, 'converged']

export function completionOf(shell: Shell, options: readonly string[]): string {
  const words = {
    commands: commands.join(' '),
    objects: objects.join(' '),
    states: states.join(' '),
    goals: goals.join(' '),
  }
  const flags = options.map((name) => `--${name}`).join(' ')
  switch (shell) {
    case 'bash':
      return bash(words, flags)
    case 'zsh':
      return `autoload -U +X bashcompinit && bashcompinit\n${bash(words, flags)}`
    case 'fish':
      return [
        'complete -c rollcall -f',
        `complete -c rollcall -n __fish_use_subcommand -a '${words.commands}'`,
        `complete -c rollcall -n '__fish_seen_subcommand_from get' -a '${words.objects}'`,
        `complete -c rollcall -n '__fish_seen_subcommand_from completion' -a '${shells.join(' ')}'`,
        ...options.map((name) =>
          name === 'for' || name === 'state'
            ? `complete -c rollcall -l ${name} -x -a '${name === 'for' ? words.goals : words.states}'`
            : `complete -c rollcall -l ${name}`,
        ),
        '',
      ].join('\n')
  }
}

function bash(words: Readonly<Record<'commands' | 'objects' | 'states' | 'goals', string>>, flags: string): string {
  return `_rollcall() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} known
  # In bash, = is a word of its own.
  if [ "$before" = = ]; then before=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [ "$word" = = ]; then word=; fi
  case "$before" in
    rollcall) known='${words.commands}' ;;
    get) known='${words.objects}' ;;
    completion) known='${shells.join(' ')}' ;;
    --for) known='${words.goals}' ;;
    --state) known='${words.states}' ;;
    *) known='${flags}' ;;
  esac
  COMPREPLY=($(compgen -W "$known" -- "$word"))
}
complete -F _rollcall rollcall
`
}
