/** The three reads of the query benchmark in a statement each: what the floor and the peers answer from. */
import postgres from 'postgres'

export interface Reads {
  page(after: string | null): Promise<object>
  rollout(name: string): Promise<object | null>
  deployment(id: string, device: string): Promise<object | null>
}

const counts = `json_build_object('total', r.pending + r.installing + r.installed + r.failed + r.removing + r.removed,
  'installed', r.installed, 'failed', r.failed)`
const limit = 50

export function createReads(url: string): Reads {
  // As many connections as ours has for reading.
  const sql = postgres(url, { max: 8, onnotice: () => {} })
  const run = <T extends object>(text: string, parameters: (string | number)[]): Promise<T[]> =>
    sql.unsafe(text, parameters, { prepare: true }) as unknown as Promise<T[]>
  return {
    async page(after) {
      const rows = await run<{ revision: string }>(
        `select d.deployment_id as "deploymentId", d.reporter, d.state, d.components, d.revision,
            json_build_object('name', r.name, 'deploymentCounts', ${counts}) as rollout
          from deployments d join rollouts r on r.key = d.rollout_key
          where d.forgotten_at is null and d.revision < $1::bigint order by d.revision desc limit ${limit + 1}`,
        [after ?? Number.MAX_SAFE_INTEGER],
      )
      const nodes = rows.slice(0, limit)
      return { nodes, pageInfo: { hasNextPage: rows.length > limit, endCursor: nodes.at(-1)?.revision ?? null } }
    },
    async rollout(name) {
      const [row] = await run(
        `select r.name, ${counts} as "deploymentCounts", json_build_object('nodes', (
            select json_agg(json_build_object('deploymentId', d.deployment_id, 'reporter', d.reporter, 'state', d.state) order by d.revision desc)
            from (select * from deployments d where d.rollout_key = r.key and d.forgotten_at is null
              order by d.revision desc limit 20) d)) as deployments
          from rollouts r where r.kind = 'MARGO_DEPLOYMENT' and r.identity = $1`,
        [`[null,null,null,null,${JSON.stringify(name)}]`],
      )
      return row ?? null
    },
    async deployment(id, device) {
      const [row] = await run(
        `select d.deployment_id as "deploymentId", d.state, d.components, json_build_object('nodes', (
            select json_agg(change order by revision) from (
              select c.first_revision + i - 1 as revision, jsonb_build_object('revision', (c.first_revision + i - 1)::text,
                'kind', change->>'kind', 'component', change->'component', 'from', change->'from', 'to', change->'to') as change
              from change_log c, json_array_elements(c.changes::json) with ordinality as x (change, i)
              where c.deployment_key = d.key order by 1 limit 20) changes)) as history
          from deployments d where d.deployment_id = $1 and d.reporter = $2 and d.forgotten_at is null`,
        [id, device],
      )
      return row ?? null
    },
  }
}
