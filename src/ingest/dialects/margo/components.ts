import type { ComponentReport } from '../../../domain/report.ts'
import { complain, isAbsent, isObject, type Problems, shown } from '../../../platform/body/problems.ts'
import { idProblem } from '../../../platform/body/text.ts'
import { readError } from './error.ts'
import { readState, stateProblem } from './state.ts'

const mostComponents = 1000

export function readComponents(problems: Problems, where: string, list: unknown): readonly ComponentReport[] {
  if (!Array.isArray(list)) {
    complain(problems, where, `must be a list of components, which may be empty, but is ${shown(list)}`)
    return []
  }
  if (list.length > mostComponents) {
    complain(problems, where, `must have at most ${mostComponents} entries, but has ${list.length}`)
    return []
  }
  const components: ComponentReport[] = []
  for (let i = 0; i < list.length; i++) {
    const component = readComponent(problems, where, i, list[i])
    if (component !== null) components.push(component)
  }
  if (list.length > 1) refuseRepeatedNames(problems, where, list)
  return components
}

/** Builds field names only for problems: this runs for every component of every report. */
function readComponent(problems: Problems, where: string, i: number, item: unknown): ComponentReport | null {
  if (!isObject(item)) {
    complain(problems, `${where}[${i}]`, `must be an object with name and state, but is ${shown(item)}`)
    return null
  }
  const name = item.name
  const nameProblem = idProblem(name)
  if (nameProblem !== null) complain(problems, `${where}[${i}].name`, nameProblem)
  const state = readState(item.state)
  if (state === null) complain(problems, `${where}[${i}].state`, stateProblem(item.state))
  const error = isAbsent(item.error) ? null : readError(problems, `${where}[${i}].error`, item.error)
  return typeof name === 'string' && state !== null ? { name, state, error } : null
}

function refuseRepeatedNames(problems: Problems, where: string, list: readonly unknown[]): void {
  const seen = new Map<string, number>()
  for (let i = 0; i < list.length; i++) {
    const item = list[i]
    if (!isObject(item) || typeof item.name !== 'string' || item.name === '') continue
    const first = seen.get(item.name)
    if (first === undefined) seen.set(item.name, i)
    else complain(problems, `${where}[${i}].name`, `must not be repeated, but is that of ${where}[${first}] too`)
  }
}
