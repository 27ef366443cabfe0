/** Loads what the retirement of a device concerns: all devices below it, and where all their deployments are. Their texts may be hundreds of megabytes. */
import { deviceNamed } from '../../sql/lateral-lookup.ts'
import type { TargetRecord } from '../../sql/rows.ts'
import type { Place } from '../contract.ts'
import { type Ask, askMeasured } from './measured.ts'

interface LoadedBranches {
  readonly targets: readonly TargetRecord[]
  readonly places: readonly Place[]
}

const branch = `with recursive branch as (
    select t.* from json_array_elements_text($1::text::json) x ${deviceNamed('x')}
    union select c.* from branch b cross join lateral (select c.* from targets c where c.parent_key = b.key offset 0) c)`
const devices = `${branch} select * from branch`
const place = `d.key, d.target_key as "targetKey", d.reporter`
/** The last conditions stay outside the lateral query. Inside it, a planner without statistics would read the whole partial index for each device. */
const running = `${branch} select ${place} from branch b cross join lateral (select d.* from deployments d
    where d.target_key = b.key offset 0) d where d.instance_key is null and d.forgotten_at is null`
const reported = `${branch} select ${place} from branch b cross join lateral (select d.* from deployments d
    where d.reporter = b.name and d.instance_key is null offset 0) d where d.forgotten_at is null`

export async function loadBranches(ask: Ask, names: readonly string[]): Promise<LoadedBranches> {
  const [targets, ...places] = await Promise.all([
    askMeasured<TargetRecord>(ask, 'targets', [[devices, names]]),
    ask<Place>(running, names),
    ask<Place>(reported, names),
  ])
  return { targets, places: places.flat() }
}
