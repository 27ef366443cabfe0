/**
 * The difference between an instance's resources and what was last sent to a sink. Reconciliation needs no history, so notifications
 * may be merged, repeated or lost, and the receiver still converges.
 */
import { createHash } from 'node:crypto'
import type { Readiness, Revision } from '../../domain/values.ts'
import type { Snapshot } from '../../store/database.ts'
import { detailsOf, type ResourceRow, resourcePages, sumOfReadiness } from '../../store/read/orchestration/resources.ts'
import type { Mark } from '../../store/sinks/sink-marks.ts'

export interface PresentResource {
  readonly resource: ResourceRow
  readonly detail: unknown
}

/** The resources of an instance that exist, and what follows from them. */
export interface PresentState {
  readonly revision: Revision
  readonly readiness: Readiness
  readonly resources: readonly PresentResource[]
}

export async function readPresent(
  snapshot: Snapshot,
  instanceKey: number,
  isWanted: (kind: string) => boolean,
): Promise<PresentState> {
  const scope = { of: 'instance', keys: [instanceKey] } as const
  const found: PresentResource[] = []
  for await (const page of resourcePages(snapshot, instanceKey, { presence: ['PRESENT'] }, 500)) {
    const wanted = page.filter(({ kind }) => isWanted(kind))
    const details = await detailsOf(
      snapshot,
      wanted.map(({ key }) => key),
    )
    found.push(...wanted.map((resource) => ({ resource, detail: details.get(resource.key)?.detail ?? null })))
  }
  const sums = await sumOfReadiness(snapshot, scope, null)
  return { revision: (await snapshot.head).revision, readiness: sums.get(instanceKey) ?? 'UNKNOWN', resources: found }
}

interface Difference<Description> {
  readonly created: readonly Description[]
  readonly modified: readonly Description[]
  readonly deleted: readonly Mark[]
  /** The marks to write after sending. They include resources whose object changed and whose description did not. */
  readonly marks: readonly Mark[]
}

/** `describe`: what is sent for a resource. `withoutNoise`: the part whose changes cause a notification. */
export function differenceOf<Description extends Readonly<Record<string, unknown>>>(
  present: readonly PresentResource[],
  known: ReadonlyMap<number, Mark>,
  describe: (resource: PresentResource) => Description,
  withoutNoise: (description: Description) => unknown = (description) => description,
): Difference<Description> {
  const created: Description[] = []
  const modified: Description[] = []
  const marks: Mark[] = []
  const there = new Set<number>()
  for (const one of present) {
    const { key, detailHash } = one.resource
    there.add(key)
    const description = describe(one)
    const hash = createHash('sha256')
      .update(JSON.stringify(withoutNoise(description)))
      .digest('base64url')
    const mark = known.get(key)
    if (!mark) created.push(description)
    else if (mark.hash !== hash) modified.push(description)
    if (mark?.hash !== hash || mark.detailHash !== detailHash)
      marks.push({ resourceKey: key, hash, detailHash, told: withoutContent(description) })
  }
  return { created, modified, deleted: [...known.values()].filter(({ resourceKey }) => !there.has(resourceKey)), marks }
}

/** The fields that identify a resource for a later deletion. Never the object itself. */
function withoutContent({
  status,
  body,
  ...identity
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return identity
}
