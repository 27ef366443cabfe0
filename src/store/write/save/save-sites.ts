/** Saves what a batch has received from the servers of sites. */

import { insertOf } from '../../sql/record-set.ts'
import { toSiteRow } from '../../sql/site-rows.ts'
import { siteDeployments, sites, siteTargets } from '../../tables/schema.ts'
import type { SiteEffects } from '../contract.ts'
import { type Put, putRows, putText } from './put.ts'

const allOfSite = `on conflict (key) do update set ${[
  'epoch',
  'revision',
  'writes',
  'snapshot_epoch',
  'snapshot_revision',
  'snapshot_writes',
  'snapshot_after',
  'protocol',
  'version',
  'backlog',
  'sent_at',
  'received_at',
]
  .map((column) => `${column} = excluded.${column}`)
  .join(', ')}`
const putSite = insertOf(sites, { more: allOfSite })
const putTarget = insertOf(siteTargets, { more: 'on conflict (site_key, theirs) do update set key = excluded.key' })
const putDeployment = insertOf(siteDeployments, {
  more: 'on conflict (site_key, theirs) do update set key = excluded.key, since = excluded.since',
})

export function* putSites({ sites: rows, begun, targets, deployments }: SiteEffects): Iterable<Put> {
  for (const table of ['site_targets', 'site_deployments'])
    for (const site of begun)
      yield putText({ text: `delete from ${table} where site_key = $1::bigint`, parameters: [site] })
  yield* putRows(putSite, rows.map(toSiteRow))
  yield* putRows(
    putTarget,
    targets.map(({ site: siteKey, ...row }) => ({ siteKey, ...row })),
  )
  yield* putRows(
    putDeployment,
    deployments.map(({ site: siteKey, ...row }) => ({ siteKey, ...row })),
  )
}
