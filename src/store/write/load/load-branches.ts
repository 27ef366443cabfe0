/**
 * Loads what the retirement of a device concerns: the names of all devices below it, and where all their deployments are. Not their other texts, which
 * may be hundreds of megabytes.
 */
import { deviceNamed, namedDeployments } from '../../sql/lateral-lookup.ts'
import type { BranchDevice, LoadedBranches, Place } from '../contract.ts'
import type { Ask } from './measured.ts'

const branch = `with recursive branch as (
    select t.key, t.name, t.parent_key, t.retired_at from json_array_elements_text($1::text::json) x ${deviceNamed('x')}
    union select c.* from branch b
      cross join lateral (select c.key, c.name, c.parent_key, c.retired_at from targets c where c.parent_key = b.key offset 0) c)`
const below = `${branch} select key, name, parent_key as "parentKey", retired_at is not null as "isRetired" from branch`
const place = `d.key, d.target_key as "targetKey", d.reporter`
/** The last conditions stay outside the lateral query. Inside it, a planner without statistics would read the whole partial index for each device. */
const running = `${branch} select ${place} from branch b cross join lateral (select d.* from deployments d
    where d.target_key = b.key offset 0) d where d.instance_key is null and d.forgotten_at is null`
const reported = `${branch} select ${place} from branch b cross join lateral ${namedDeployments('n.reporter = b.name and not n.is_remote')} d
    where d.forgotten_at is null`

export async function loadBranches(ask: Ask, names: readonly string[]): Promise<LoadedBranches> {
  const [devices, ...places] = await Promise.all([
    ask<BranchDevice>(below, names),
    ask<Place>(running, names),
    ask<Place>(reported, names),
  ])
  return { devices, places: places.flat() }
}
