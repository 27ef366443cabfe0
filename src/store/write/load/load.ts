/**
 * The first half of the writer's SQL: locks the log's head, then loads the needs of a batch, in one query a table. `loadBeside` does so without the
 * lock, for a batch that follows batches in flight.
 */
import { manifestOwner } from '../../../domain/desired.ts'
import type { RolloutLabels, RolloutName } from '../../../domain/rollout.ts'
import { ownSite, type TargetName } from '../../../domain/target.ts'
import { storableJson } from '../../../domain/text.ts'
import { noLogHead } from '../../connection/failure.ts'
import type { Reader, Session } from '../../database.ts'
import { deviceNamed, namedDeployments } from '../../sql/lateral-lookup.ts'
import { storedUniqueName } from '../../sql/rollout-unique-name.ts'
import {
  type DeploymentRecord,
  type RolloutRecord,
  type TargetRecord,
  toDeployment,
  toRollout,
  toTarget,
} from '../../sql/rows.ts'
import type { Head, Loaded } from '../contract.ts'
import type { DeploymentNeed, Needs } from '../needs.ts'
import { loadAlerts } from './load-alerts.ts'
import { loadBranches } from './load-branches.ts'
import { loadDesired } from './load-desired.ts'
import { loadMaintenance } from './load-maintenance.ts'
import { loadOrchestration } from './load-orchestration.ts'
import { loadSites } from './load-sites.ts'
import { type Ask, askMeasured } from './measured.ts'

export interface LockedHead extends Head {
  /** The number of committed batches, of all replicas. */
  readonly writes: number
  /** The name of the last of them. */
  readonly stamp: string
}

/** A separate statement, so that later statements of the transaction see everything that earlier holders committed. */
const lockHeadText = 'select revision, at, next_key as "nextKey", writes, stamp from log_head where id = 1 for update'

export async function lockHead(session: Session): Promise<LockedHead> {
  const [head] = await session.run<LockedHead>(lockHeadText)
  if (!head) throw noLogHead()
  return head
}

type Position = Pick<LockedHead, 'writes' | 'stamp'>
const positionText = 'select writes, stamp from log_head where id = 1'

/**
 * Loads the needs while batches are written. `heads`: the head before the first of these batches, and the head after each. The rows have the effects
 * of some of the batches, or of none. Null: the database is at none of these heads, because another server has written, or because the connection
 * leads to another database.
 */
export async function loadBeside(
  reader: Reader,
  needs: readonly Needs[],
  heads: readonly LockedHead[],
): Promise<Loaded | null> {
  // Sent first, so the rows are not older than this position.
  const [[position], loaded] = await Promise.all([reader.run<Position>(positionText), loadNeeds(reader, needs)])
  const isKnown = heads.some(({ writes, stamp }) => writes === position?.writes && stamp === position.stamp)
  return isKnown ? loaded : null
}

const deploymentsByName = `select d.* from json_to_recordset($1::text::json) as x("deploymentId" text, reporter text)
  cross join lateral ${namedDeployments('n.reporter = x.reporter and n.deployment_id = x."deploymentId" and not n.is_remote')} d`
/**
 * Of one name on one device: any number of reporters may have it, and each has texts. A command wants those that are not reported yet, and for a
 * declaration one in service.
 */
const mostOfName = 3
const wantedFirst = `(not d.claimed and d.forgotten_at is null) desc, (d.forgotten_at is null) desc`
const deploymentsByDevice = `select d.* from json_to_recordset($1::text::json) as x("deploymentId" text, device text)
  ${deviceNamed('x.device')}
  cross join lateral (select d.* from ${namedDeployments('n.target_key = t.key and n.deployment_id = x."deploymentId"')} d
    order by ${wantedFirst}, d.key limit ${mostOfName}) d`
/** The deployments that the manifests of these devices list or listed, on any child. */
const deploymentsByManifest = `select d.* from json_to_recordset($1::text::json) as x("deploymentId" text, owner text)
  ${deviceNamed('x.owner')}
  cross join lateral (select d.* from (select e.deployment_key, bool_or(e.until is null) as listed from manifest_entries e
      where e.target_key = t.key and e.deployment_id = x."deploymentId" group by e.deployment_key offset 0) e
    cross join lateral (select d.* from deployments d where d.key = e.deployment_key offset 0) d
    order by e.listed desc, ${wantedFirst}, (d.document_digest is not null) desc, d.key limit ${mostOfName}) d`
const deploymentsByKey = `select d.* from json_array_elements_text($1::text::json) x
  cross join lateral (select d.* from deployments d where d.key = x::bigint offset 0) d`
const numbersByReporter = `select x as reporter, d.number from json_array_elements_text($1::text::json) x
  cross join lateral (select count(*)::int as number from deployment_names n where n.reporter = x and not n.is_remote offset 0) d`

const devicesByName = `select t.* from json_array_elements_text($1::text::json) x ${deviceNamed('x')}`
const targetsByName = `select t.* from json_to_recordset($1::text::json) as x(kind target_kind, provider text, name text)
  cross join lateral (select t.* from targets t
    where t.kind = x.kind and t.provider = x.provider and t.name = x.name and t.site_key = ${ownSite} offset 0) t`
const targetsByKey = `select t.* from json_array_elements_text($1::text::json) x
  cross join lateral (select t.* from targets t where t.key = x::bigint offset 0) t`
const devicesAndAncestors = `with recursive above as (
    ${devicesByName}
    union select p.* from above a join targets p on p.key = a.parent_key)
  select * from above`
const holders = `select i.id, i.target_key as "targetKey" from json_array_elements_text($1::text::json) x
  cross join lateral (select i.* from device_identities i where i.id = x offset 0) i`
const rolloutsByKey = `select r.* from json_array_elements_text($1::text::json) x
  cross join lateral (select r.* from rollouts r where r.key = x::bigint offset 0) r`
const rolloutsByIdentity = `select r.* from json_to_recordset($1::text::json) as x(kind rollout_kind, identity text)
  cross join lateral (select r.* from rollouts r where r.kind = x.kind and r.identity = x.identity offset 0) r`

const presentLabels = `select l.rollout_key as "rolloutKey", l.since, l.labels from json_array_elements_text($1::text::json) x
  cross join lateral (select l.* from rollout_labels l where l.rollout_key = x::bigint and l.until is null offset 0) l`

/** What the needs name, then what these rows refer to. */
export async function loadNeeds(session: Reader, needs: readonly Needs[]): Promise<Loaded> {
  const ask: Ask = (text, list) => (list.length === 0 ? Promise.resolve([]) : session.run(text, [storableJson(list)]))
  const named = needs.flatMap((need) => need.deployments ?? [])
  const orchestrated = needs.flatMap((need) => need.orchestrated ?? [])
  const windows = needs.flatMap((need) => (need.maintenance ? [need.maintenance] : []))
  const alerting = needs.flatMap((need) => need.alerts ?? [])

  const siteNeeds = needs.flatMap((need) => need.site ?? [])
  const branchNames = unique(needs.flatMap((need) => need.branches ?? []))

  const [branches, desired, reported, held, targets, deploymentRows, sites] = await Promise.all([
    branchNames.length === 0 ? null : loadBranches(ask, branchNames),
    loadDesired(session, needs),
    ask<{ reporter: string; number: number }>(numbersByReporter, unique(needs.flatMap((need) => need.reporters ?? []))),
    ask<{ id: string; targetKey: number }>(holders, unique(needs.flatMap((need) => need.identities ?? []))),
    askTargets(ask, needs),
    askDeployments(ask, needs, named),
    siteNeeds.length === 0 ? null : loadSites(ask, siteNeeds),
  ])
  const identities = new Map(held.map(({ id, targetKey }) => [id, targetKey]))
  const deployments = new Map(
    [...deploymentRows, ...(sites?.deploymentRows ?? [])].map((row) => [row.key, toDeployment(row)]),
  )
  const orchestration = orchestrated.length === 0 ? null : await loadOrchestration(session, orchestrated)
  for (const deployment of orchestration?.deployments ?? []) deployments.set(deployment.key, deployment)

  const foundTargets = [...targets, ...(sites?.targetRows ?? [])]
  const loadedTargets = new Set(foundTargets.map(({ key }) => key))
  const referredTargets = [...[...deployments.values()].map(({ targetKey }) => targetKey), ...identities.values()]
  const foundNames = new Set([...deployments.values()].map(nameOf))
  /** The rollouts of deployments that do not exist yet. */
  const implicit = named.flatMap((need) => (need.otherwise && !foundNames.has(nameOf(need)) ? [need.otherwise] : []))
  const [otherTargets, ...rolloutRows] = await Promise.all([
    askMeasured<TargetRecord>(ask, 'targets', [
      [targetsByKey, unique(referredTargets).filter((key) => !loadedTargets.has(key))],
    ]),
    ask<RolloutRecord>(
      rolloutsByIdentity,
      identitiesOf([...needs.flatMap((need) => need.rollouts ?? []), ...implicit]),
    ),
    ask<RolloutRecord>(rolloutsByKey, unique(needs.flatMap((need) => need.rolloutKeys ?? []))),
  ])
  const rollouts = rolloutRows.flat().map(toRollout)
  const labelled = needs.some((need) => need.rolloutLabels) ? unique(rollouts.map(({ key }) => key)) : []
  const rolloutLabels = await ask<RolloutLabels>(presentLabels, labelled)
  return {
    deployments: [...deployments.values()],
    targets: [...foundTargets, ...otherTargets].map(toTarget),
    rollouts: [...rollouts, ...(orchestration?.rollouts ?? [])],
    ...(branches && { branches }),
    ...(reported.length > 0 && { reported: new Map(reported.map(({ reporter, number }) => [reporter, number])) }),
    ...(rolloutLabels.length > 0 && { rolloutLabels }),
    ...(identities.size > 0 && { identities }),
    ...(orchestration && { orchestration }),
    ...(desired && { desired }),
    ...(sites && { sites }),
    ...(alerting.length > 0 && { alerts: await loadAlerts(session, alerting) }),
    ...(windows.length > 0 && { maintenance: await loadMaintenance(session, unique(windows.flat())) }),
  }
}

/** The devices and clusters that the needs name. */
function askTargets(ask: Ask, needs: readonly Needs[]): Promise<TargetRecord[]> {
  return askMeasured(ask, 'targets', [
    [
      needs.some((need) => need.ancestors) ? devicesAndAncestors : devicesByName,
      unique(needs.flatMap((need) => need.devices ?? [])),
    ],
    [targetsByName, uniqueTargets(needs.flatMap((need) => need.targets ?? []))],
  ])
}

/** The deployments that the needs name, by any of their names. */
function askDeployments(
  ask: Ask,
  needs: readonly Needs[],
  named: readonly DeploymentNeed[],
): Promise<DeploymentRecord[]> {
  // Another reporter may have the deployment, or another device's manifest may list it.
  const elsewhere = named.filter((need) => need.anyReporter || need.device !== need.reporter)
  const listed = [...elsewhere, ...needs.filter(({ manifests }) => manifests).flatMap((need) => need.deployments ?? [])]
  return askMeasured(ask, 'deployments', [
    [deploymentsByName, named.map(({ deploymentId, reporter }) => ({ deploymentId, reporter }))],
    [deploymentsByDevice, elsewhere.map(({ deploymentId, device }) => ({ deploymentId, device }))],
    [deploymentsByManifest, listed.map(({ deploymentId, device }) => ({ deploymentId, owner: manifestOwner(device) }))],
    [deploymentsByKey, unique(needs.flatMap((need) => need.deploymentKeys ?? []))],
  ])
}

function uniqueTargets(targets: readonly TargetName[]): TargetName[] {
  return [...new Map(targets.map((target) => [JSON.stringify(target), target])).values()]
}

function identitiesOf(rollouts: readonly RolloutName[]): object[] {
  const found = new Map<string, object>()
  for (const rollout of rollouts) {
    const identity = storedUniqueName(rollout)
    found.set(rollout.kind + identity, { kind: rollout.kind, identity })
  }
  return [...found.values()]
}

function nameOf({ deploymentId, reporter }: { deploymentId: string; reporter: string }): string {
  return `${deploymentId}\n${reporter}`
}

function unique<T>(list: readonly T[]): T[] {
  return [...new Set(list)]
}
