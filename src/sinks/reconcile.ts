/**
 * The difference between an instance's resources and what was last sent to a sink. Reconciliation needs no history, so notifications
 * may be merged, repeated or lost, and the receiver still converges.
 */
import { createHash } from 'node:crypto'
import type { Readiness, Revision } from '../domain/values.ts'
import type { Snapshot } from '../store/database.ts'
import { detailsOf, pageResources, type ResourceRow, sumOfReadiness } from '../store/read/resources.ts'
import type { Mark } from '../store/sinks/sink-marks.ts'
import type { Page, PageRequest } from '../store/sql/order.ts'

export interface Shown {
  readonly resource: ResourceRow
  readonly detail: unknown
}

export interface Level {
  readonly revision: Revision
  readonly readiness: Readiness
  /** The resources that exist. */
  readonly shown: readonly Shown[]
}

export async function readLevel(
  snapshot: Snapshot,
  instanceKey: number,
  isWanted: (kind: string) => boolean,
): Promise<Level> {
  const scope = { of: 'instance', keys: [instanceKey] } as const
  const shown: Shown[] = []
  for (let after: string | null = null; ; ) {
    const request: PageRequest = { size: 500, after, before: null, backward: false }
    const page: Page<ResourceRow> | undefined = (
      await pageResources(snapshot, scope, { presence: ['PRESENT'] }, request, null)
    ).get(instanceKey)
    const resources = (page?.edges ?? []).map(({ node }) => node).filter(({ kind }) => isWanted(kind))
    const details = await detailsOf(
      snapshot,
      resources.map(({ key }) => key),
    )
    shown.push(...resources.map((resource) => ({ resource, detail: details.get(resource.key)?.detail ?? null })))
    after = page?.edges.at(-1)?.cursor ?? null
    if (!page?.hasNextPage || after === null) break
  }
  const sums = await sumOfReadiness(snapshot, scope, null)
  return { revision: (await snapshot.head).revision, readiness: sums.get(instanceKey) ?? 'UNKNOWN', shown }
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
  shown: readonly Shown[],
  known: ReadonlyMap<number, Mark>,
  describe: (shown: Shown) => Description,
  withoutNoise: (description: Description) => unknown = (description) => description,
): Difference<Description> {
  const created: Description[] = []
  const modified: Description[] = []
  const marks: Mark[] = []
  const there = new Set<number>()
  for (const one of shown) {
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
