/** The present of a site, where its log does not continue what this server has. */
import type { SiteState } from '../../../domain/sites/batch.ts'
import { changesTo } from '../../../domain/sites/changes-to.ts'
import { forgetDeployment } from '../../../domain/transition/transition.ts'
import { eachPaced, type Paced } from '../../../platform/limits/pace.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'
import { become, newAtPlace } from './facts.ts'
import type { Sender } from './sender.ts'

/** A deployment becomes what it is at its site. Its name identifies it: after a restore of the sender, its key may be another's. */
export function applyState(
  work: UnitOfWork,
  { key: site }: Sender,
  { key, named, target, rollout, image }: SiteState,
): void {
  const targetKey = work.sites.target(site, target)
  if (targetKey === null) throw new Error('an unknown target was not refused')
  const known = work.deploymentOf(work.targetByKey(targetKey).siteKey, named.deploymentId, named.reporter, targetKey)
  const start = known ?? newAtPlace(work, named, rollout, targetKey)
  work.sites.putDeployment(site, key, start.key, image.revision)
  const place = { targetKey, rolloutKey: work.ensureRollout(rollout).key }
  const changes = changesTo(known, { ...image, ...place, instanceKey: null })
  become(work, known, start, { ...place, changes, observedAt: image.reportedAt })
}

/** They no longer exist at the site, or never did in what it remembers. */
export function forgetMissing(work: UnitOfWork, missing: readonly number[]): Paced<unknown> {
  return eachPaced(missing, (key) => {
    const known = work.deploymentByKey(key)
    if (known) work.apply(known, forgetDeployment(known, work.moment()), null)
  })
}
