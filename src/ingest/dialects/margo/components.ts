/** The components of a report. One that is malformed costs itself, not the report: the transition keeps it as it was (withUnread). */
import { type ComponentReport, mostComponents, type UnreadComponent } from '../../../domain/report.ts'
import { foreignText } from '../../../domain/text.ts'
import { isAbsent, isObject, shown } from '../../../platform/body/problems.ts'
import { idProblem } from '../../../platform/body/text.ts'
import { readError } from './error.ts'
import { type Reading, warn } from './reading.ts'
import { readState, stateProblem } from './state.ts'

interface Components {
  readonly components: readonly ComponentReport[]
  readonly unread: readonly UnreadComponent[]
}

/** Characters of what was not understood. */
const longestSaid = 200

export function readComponents(reading: Reading, where: string, list: unknown): Components {
  if (!Array.isArray(list)) {
    notUnderstood(reading, where, `must be a list of components, which may be empty, but is ${shown(list)}`)
    return { components: [], unread: [] }
  }
  const components: ComponentReport[] = []
  const unread: UnreadComponent[] = []
  const length = Math.min(list.length, mostComponents)
  for (let i = 0; i < length; i++) {
    const part = readComponent(reading, where, i, list[i])
    if ('said' in part) unread.push(part)
    else components.push(part)
  }
  if (list.length > length) {
    const problem = `must have at most ${mostComponents} entries, but has ${list.length}`
    notUnderstood(reading, where, problem)
    unread.push({ name: null, said: problem })
  }
  return components.length > 1 ? withoutRepeated(reading, where, { components, unread }) : { components, unread }
}

/** Builds field names only for problems: this runs for every component of every report. */
function readComponent(reading: Reading, where: string, i: number, item: unknown): ComponentReport | UnreadComponent {
  if (!isObject(item)) return unclear('', `must be an object with name and state, but is ${shown(item)}`, null)
  const { name } = item
  const nameProblem = idProblem(name)
  if (nameProblem !== null || typeof name !== 'string') return unclear('.name', nameProblem ?? '', null)
  const state = readState(item.state)
  if (state === null) return unclear('.state', stateProblem(item.state), name)
  const error = isAbsent(item.error) ? null : readError(reading, `${where}[${i}].error`, item.error)
  return { name, state, error }

  function unclear(field: string, problem: string, named: string | null): UnreadComponent {
    notUnderstood(reading, `${where}[${i}]${field}`, problem)
    return { name: named, said: foreignText(`${field.slice(1)} ${problem}`.trim(), longestSaid) }
  }
}

/** Of a component that a report has twice, with the same state, the first is taken. With two states it is not clear which is its own. */
function withoutRepeated(reading: Reading, where: string, { components, unread }: Components): Components {
  const byName = new Map<string, ComponentReport | null>()
  const said: UnreadComponent[] = []
  for (const component of components) {
    const { name, state } = component
    const first = byName.get(name)
    if (first === undefined && !byName.has(name)) byName.set(name, component)
    else {
      notUnderstood(reading, where, `must not have ${shown(name)} more than once`)
      if (first && first.state !== state) {
        byName.set(name, null)
        said.push({ name, said: `in the list more than once, as ${first.state} and as ${state}` })
      }
    }
  }
  if (byName.size === components.length) return { components, unread }
  return { components: [...byName.values()].filter((part) => part !== null), unread: [...unread, ...said] }
}

function notUnderstood(reading: Reading, field: string, message: string): void {
  warn(reading, 'PART_NOT_UNDERSTOOD', field, message)
}
