/** What a list of reported components changes about the known ones. */
import type { ChangeBody } from '../change.ts'
import type { Component } from '../deployment.ts'
import type { ComponentReport } from '../report.ts'
import type { DeploymentState, StatusError } from '../values.ts'
import type { Moment } from './transition-result.ts'

/** Pushes a change for each component that differs. Returns the new list in the order first seen. */
export function mergeComponents(
  present: readonly Component[],
  reported: readonly ComponentReport[],
  declared: readonly string[],
  changes: ChangeBody[],
  moment: Moment,
): readonly Component[] {
  const wanted = new Map(reported.map((component) => [component.name, component]))
  for (const component of absentAsPending(reported, declared)) wanted.set(component.name, component)

  const merged: Component[] = []
  for (const old of present) {
    const component = wanted.get(old.name)
    wanted.delete(old.name)
    if (!component) changes.push({ kind: 'COMPONENT_REMOVED', component: old.name, from: old.state })
    else if (component.state === old.state && sameError(component.error, old.error)) merged.push(old)
    else merged.push(changed(component, old.state))
  }
  for (const component of wanted.values()) merged.push(changed(component, null))
  return merged

  function changed(component: ComponentReport, from: DeploymentState | null): Component {
    const revision = moment.revision + changes.length
    const { name, state, error } = component
    changes.push({ kind: 'COMPONENT_STATE_CHANGED', component: name, from, to: state, error })
    return { name, state, error, changedAt: moment.at, revision }
  }
}

/** The declared components that `list` omits, as PENDING. */
export function absentAsPending(list: readonly ComponentReport[], declared: readonly string[]): ComponentReport[] {
  return declared
    .filter((name) => !list.some((component) => component.name === name))
    .map((name) => ({ name, state: 'PENDING', error: null }))
}

export function sameError(a: StatusError | null, b: StatusError | null): boolean {
  if (a === null || b === null) return a === b
  return a.code === b.code && a.message === b.message && a.source === b.source
}
