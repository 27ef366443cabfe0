/** What a list of reported components changes about the known ones. */
import type { ChangeBody } from '../change.ts'
import type { Component } from '../deployment.ts'
import { type ComponentReport, mostComponents, mostErrorBytes, type StatusReport } from '../report.ts'
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
    else if (isSame(component, old)) merged.push(old)
    else merged.push(changed(component, old.state))
  }
  for (const component of wanted.values()) merged.push(changed(component, null))
  return merged

  function changed(component: ComponentReport, from: DeploymentState | null): Component {
    const revision = moment.revision + changes.length
    const { name, state, error, unread } = component
    const said = unread === undefined ? {} : { unread }
    changes.push({ kind: 'COMPONENT_STATE_CHANGED', component: name, from, to: state, error, ...said })
    return { name, state, error, ...said, changedAt: moment.at, revision }
  }
}

function isSame(a: ComponentReport, b: ComponentReport): boolean {
  return a.state === b.state && sameError(a.error, b.error) && a.unread === b.unread
}

/**
 * What a report says about the components of a deployment, with those that it did not make clear as they were. A component that cannot be
 * read may be any that the report omits, if it has no name: then all of them stay. The limits of one report hold for the result,
 * otherwise reports that each name other components would let it grow without end.
 */
export function withUnread(
  present: readonly Component[],
  { components, unread }: Pick<StatusReport, 'components' | 'unread'>,
): readonly ComponentReport[] {
  if (!unread || unread.length === 0) return components
  const said = new Map(unread.flatMap((part) => (part.name === null ? [] : [[part.name, part.said] as const])))
  const named = new Set(components.map(({ name }) => name))
  const keepsAll = components.length === 0 || unread.some(({ name }) => name === null)
  let left = mostErrorBytes - components.reduce((sum, { error }) => sum + sizeOf(error), 0)
  const kept = present
    .filter(({ name }) => !named.has(name) && (keepsAll || said.has(name)))
    .slice(0, Math.max(0, mostComponents - components.length))
    .map(({ name, state, error }) => {
      left -= sizeOf(error)
      const what = said.get(name)
      return { name, state, error: left < 0 ? null : error, ...(what !== undefined && { unread: what }) }
    })
  return [...components, ...kept]
}

function sizeOf(error: StatusError | null): number {
  return error === null
    ? 0
    : Buffer.byteLength(error.code) + Buffer.byteLength(error.message) + Buffer.byteLength(error.source ?? '')
}

/** The declared components that `list` omits, as PENDING. */
export function absentAsPending(list: readonly ComponentReport[], declared: readonly string[]): ComponentReport[] {
  return declared
    .filter((name) => !list.some((component) => component.name === name))
    .map((name) => ({ name, state: 'PENDING', error: null }))
}

export function sameError(a: StatusError | null, b: StatusError | null): boolean {
  if (a === null || b === null) return a === b
  return a.code === b.code && a.message === b.message && a.source === b.source && a.originalLength === b.originalLength
}
