/** Loads what the retirement of a device concerns: all devices below it, and all their deployments. */
import { storableJson } from '../../../domain/text.ts'
import type { Reader } from '../../database.ts'
import { deviceNamed } from '../../sql/lateral-lookup.ts'
import type { DeploymentRecord, TargetRecord } from '../../sql/rows.ts'

interface LoadedBranches {
  readonly targets: readonly TargetRecord[]
  readonly deployments: readonly DeploymentRecord[]
}

const branch = `with recursive branch as (
    select t.* from json_array_elements_text($1::text::json) x ${deviceNamed('x')}
    union select c.* from branch b cross join lateral (select c.* from targets c where c.parent_key = b.key offset 0) c)`
const devices = `${branch} select * from branch`
/** The last conditions stay outside the lateral query. Inside it, a planner without statistics would read the whole partial index for each device. */
const running = `${branch} select d.* from branch b cross join lateral (select d.* from deployments d
    where d.target_key = b.key offset 0) d where d.instance_key is null and d.forgotten_at is null`
const reported = `${branch} select d.* from branch b cross join lateral (select d.* from deployments d
    where d.reporter = b.name and d.instance_key is null offset 0) d where d.forgotten_at is null`

export async function loadBranches(session: Reader, names: readonly string[]): Promise<LoadedBranches> {
  if (names.length === 0) return { targets: [], deployments: [] }
  const parameters = [storableJson(names)]
  const [targets, ...deployments] = await Promise.all([
    session.run<TargetRecord>(devices, parameters),
    session.run<DeploymentRecord>(running, parameters),
    session.run<DeploymentRecord>(reported, parameters),
  ])
  return { targets, deployments: deployments.flat() }
}
