/**
 * Takes a batch of a site's server (domain/sites/batch.ts): all of it, or nothing. The receiver's position decides: it is written with what it counts, so
 * a batch that comes twice, late, or from two servers of the site at once is taken once. What a site says concerns its own objects only: they are
 * found by the site and its keys, and created below its path.
 *
 * Nothing is decided again: each site decides its own devices' reports. An entry of its log becomes an entry of this log, with the changes that it has and
 * the time of this server; the deployment follows from them as it did there (domain/fold.ts).
 */

import { DomainError } from '../../../domain/errors.ts'
import type { Batch, SitePosition, Standing } from '../../../domain/sites/batch.ts'
import { siteProtocol } from '../../../domain/sites/batch.ts'
import { pathOf, type StoredSite } from '../../../domain/sites/stored-site.ts'
import type { TargetName } from '../../../domain/target.ts'
import { eachPaced, type Paced } from '../../../platform/limits/pace.ts'
import type { Statement } from '../../../store/write/contract.ts'
import { endPeriods, insertPeriods } from '../../../store/write/maintenance.ts'
import type { Command } from '../../command.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'
import { changeConnectivity } from '../connectivity.ts'
import { applyFact } from './facts.ts'
import { targetsIn, unknownIn } from './references.ts'
import type { Sender } from './sender.ts'
import { applyState, forgetMissing } from './snapshot.ts'
import { applyTarget, type Periods, siteTargetName } from './targets.ts'

export type Received =
  | { readonly taken: SitePosition | null; readonly periods: Periods }
  | { readonly standing: Standing }

export function receiveBatch(sender: Sender, batch: Batch): Command<Received> {
  const { targets = [], facts = [], snapshot } = batch
  const states = snapshot?.states ?? []
  const sites = sitesIn(sender, batch)
  const begins = snapshot?.after === 0
  return {
    needs: {
      site: {
        site: sender.key,
        paths: sites.map(({ name }) => name),
        ...(snapshot?.isLast && { missing: { path: sender.path, limit: mostMissing + states.length, begins } }),
        targets: targetsIn(batch),
        deployments: [...facts.flatMap(({ deployment }) => deployment ?? []), ...states.map(({ key }) => key)],
        targetNames: targets
          .filter(({ kind }) => kind !== 'SITE')
          .map((one) => ({ ...siteTargetName(one), path: pathOf(sender.path, one.site) })),
        deploymentNames: states.map(({ named }) => ({ ...named, path: sender.path })),
      },
      targets: sites,
      rollouts: [...facts.flatMap(({ rollout }) => rollout ?? []), ...states.map(({ rollout }) => rollout)],
    },
    decide: (work) => decideBatch(work, sender, batch, sites),
    ifTooLarge: refuseLarge,
    statements: (received) => ('periods' in received ? periodStatements(received.periods) : []),
  }
}

function* decideBatch(work: UnitOfWork, sender: Sender, batch: Batch, sites: readonly TargetName[]): Paced<Received> {
  const { targets = [], facts = [], snapshot } = batch
  const begins = snapshot?.after === 0
  const stored = work.sites.of(sender.key)
  if (!isNext(stored, batch)) return { standing: standingOf(sender, stored) }
  const periods: Periods = { begun: [], ended: [] }
  refuseOthers(work, sender, sites)
  const unknown = unknownIn(work, sender, batch, begins)
  if (unknown) return { standing: { ...standingOf(sender, stored), unknown } }
  if (begins) work.sites.begin(sender.key)
  yield* eachPaced(targets, (target) => applyTarget(work, sender, target, periods))
  yield* eachPaced(snapshot?.states ?? [], (state) => applyState(work, sender, state))
  yield* eachPaced(facts, (fact) => applyFact(work, sender, fact, periods))
  const missing = work.sites.missing()
  yield* forgetMissing(work, missing)
  // The sender sends the last part again, until nothing is missing.
  const isWhole = (!snapshot || snapshot.isLast) && missing.length < mostMissing
  const position = take(work, sender, stored, batch, isWhole)
  hearSite(work, sender)
  return { taken: position, periods }
}

/** Deployments that a batch forgets. */
const mostMissing = 1_000

/** The rows that a batch changes may be larger than it is: each may have a thousand components. The sender sends fewer facts at a time. */
async function refuseLarge(): Promise<never> {
  throw new DomainError(
    'TOO_LARGE',
    'the deployments of the batch are too large to be changed together: send fewer facts',
  )
}

/** The path of each site that the batch is about, and the sender. */
function sitesIn({ path }: Sender, { targets = [] }: Batch): TargetName[] {
  const below = targets.flatMap(({ kind, name, site }) => [
    ...(site === undefined ? [] : [pathOf(path, site)]),
    ...(kind === 'SITE' ? [pathOf(path, name)] : []),
  ])
  return [...new Set([path, ...below])].map((name) => ({ kind: 'SITE', provider: '', name }))
}

export function standingOf({ path }: Sender, stored: StoredSite | null): Standing {
  return {
    protocols: [siteProtocol],
    site: path,
    position: stored?.position ?? null,
    snapshot: stored?.snapshot ?? null,
  }
}

/** A site below the sender may have a server that sends to this one itself: no other server says what its devices do. */
function refuseOthers(work: UnitOfWork, { key, path }: Sender, sites: readonly TargetName[]): void {
  const other = sites.find(({ kind, provider, name }) => {
    const site = work.target(kind, provider, name)
    return site?.registered && site.key !== key
  })
  if (other)
    throw new DomainError('FORBIDDEN', `site ${other.name} sends to this server itself: ${path} may not send for it`)
}

/** Whether the batch begins where this server is. */
function isNext(stored: StoredSite | null, { after, upTo, snapshot }: Batch): boolean {
  if (!snapshot) return after !== null && isSame(stored?.position ?? null, after)
  if (snapshot.after === 0) return true
  return stored?.snapshot?.after === snapshot.after && isSame(stored.snapshot.upTo, upTo)
}

function isSame(a: SitePosition | null, b: SitePosition): boolean {
  return a !== null && a.epoch === b.epoch && a.revision === b.revision && a.writes === b.writes
}

function take(
  work: UnitOfWork,
  { key }: Sender,
  stored: StoredSite | null,
  batch: Batch,
  isWhole: boolean,
): SitePosition | null {
  const { protocol, version, backlog, sentAt, upTo, snapshot } = batch
  // Of the last part, the same again.
  const last = (snapshot?.isLast ? snapshot.after : snapshot?.to) ?? 0
  const position = isWhole ? upTo : (stored?.position ?? null)
  work.sites.put({
    ...{ key, position, snapshot: isWhole ? null : { upTo, after: last } },
    ...{ protocol, version, backlog, sentAt, receivedAt: work.now },
  })
  return position
}

/** A batch is a sign of life of the site, also an empty one. */
function hearSite(work: UnitOfWork, { key }: Sender): void {
  const site = { ...work.targetByKey(key), lastHeardAt: work.now }
  work.putTarget(site, 'heard')
  if (site.connectivity !== 'ONLINE') changeConnectivity(work, site, 'ONLINE', 'REPORT', null)
}

function periodStatements({ begun, ended }: Periods): readonly Statement[] {
  return [...(ended.length > 0 ? [endPeriods(ended)] : []), ...(begun.length > 0 ? [insertPeriods(begun)] : [])]
}
