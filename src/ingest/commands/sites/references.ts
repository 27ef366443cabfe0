/** What a batch of a site refers to by the keys of its sender. */
import type { ChangeBody } from '../../../domain/change.ts'
import type { Batch, Standing } from '../../../domain/sites/batch.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'
import type { Sender } from './sender.ts'

/** The keys of all targets that the batch mentions. */
export function targetsIn({ targets = [], facts = [], snapshot }: Batch): number[] {
  return [
    ...new Set([
      ...targets.flatMap(({ key, parent }) => [key, ...(parent === undefined ? [] : [parent])]),
      ...facts.flatMap(({ target, changes }) => [
        ...(target === undefined ? [] : [target]),
        ...changes.flatMap(targetsOf),
      ]),
      ...(snapshot?.states.map(({ target }) => target) ?? []),
    ]),
  ]
}

function targetsOf(change: ChangeBody): number[] {
  if (change.kind === 'DEPLOYMENT_MOVED') return [change.fromTargetKey, change.toTargetKey]
  return change.kind === 'DEVICE_RETIRED' && change.replacedByKey !== null ? [change.replacedByKey] : []
}

/** Keys that neither this server knows nor the batch explains. `begins`: a snapshot begins, so it knows none. Null: there are none. */
export function unknownIn(
  work: UnitOfWork,
  { key: site }: Sender,
  batch: Batch,
  begins: boolean,
): Standing['unknown'] | null {
  const { facts = [], targets: sent = [] } = batch
  const explained = new Set(sent.map(({ key }) => key))
  const targets = targetsIn(batch).filter(
    (key) => !explained.has(key) && (begins || work.sites.target(site, key) === null),
  )
  const named = new Set<number>()
  const deployments = new Set<number>()
  for (const { deployment, named: name, target, rollout } of facts) {
    if (deployment === undefined) continue
    if (name && target !== undefined && rollout) named.add(deployment)
    else if (!named.has(deployment) && work.sites.deployment(site, deployment) === null) deployments.add(deployment)
  }
  return targets.length + deployments.size === 0 ? null : { targets, deployments: [...deployments] }
}
