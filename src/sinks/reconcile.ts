/**
 * What an instance's resources are now, and how that differs from what a sink was last told: a sink that is kept level needs no history, so
 * notifications may be coalesced, repeated or lost on the way and it still ends right.
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
  /** What is there. */
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

export interface Difference<Told> {
  readonly created: readonly Told[]
  readonly modified: readonly Told[]
  readonly deleted: readonly Mark[]
  /** What to remember once it has been sent, also of resources that only look new. */
  readonly marks: readonly Mark[]
}

/** `describe`: what is sent of a resource. `withoutNoise`: the part of it whose differences are sent. */
export function differenceOf<Told extends Readonly<Record<string, unknown>>>(
  shown: readonly Shown[],
  known: ReadonlyMap<number, Mark>,
  describe: (shown: Shown) => Told,
  withoutNoise: (told: Told) => unknown = (told) => told,
): Difference<Told> {
  const created: Told[] = []
  const modified: Told[] = []
  const marks: Mark[] = []
  const there = new Set<number>()
  for (const one of shown) {
    const { key, detailHash } = one.resource
    there.add(key)
    const told = describe(one)
    const hash = createHash('sha256')
      .update(JSON.stringify(withoutNoise(told)))
      .digest('base64url')
    const mark = known.get(key)
    if (!mark) created.push(told)
    else if (mark.hash !== hash) modified.push(told)
    if (mark?.hash !== hash || mark.detailHash !== detailHash)
      marks.push({ resourceKey: key, hash, detailHash, told: withoutContent(told) })
  }
  return { created, modified, deleted: [...known.values()].filter(({ resourceKey }) => !there.has(resourceKey)), marks }
}

/** Enough to take it back later; never the object itself. */
function withoutContent({
  status,
  body,
  ...identity
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return identity
}
