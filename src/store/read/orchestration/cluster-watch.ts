/** What watching a cluster needs: what was last seen there, and the rollouts of its contexts. */

import type { LifecycleRolloutName } from '../../../domain/rollout.ts'
import { ownSite } from '../../../domain/target.ts'
import { storableJson } from '../../../domain/text.ts'
import type { Session } from '../../database.ts'

/** A component that a cluster has shown and still shows, as far as is known. Instances with the same status context share it. */
interface ShownComponent {
  readonly context: string
  readonly component: string
  readonly uid: string | null
}

export async function shownComponents(session: Session, provider: string, name: string): Promise<ShownComponent[]> {
  return session.run<ShownComponent>(
    `select distinct on (i.status_context, b.component) i.status_context as context, b.component, b.uid
     from targets t
     join bundles b on b.target_key = t.key
     join instances i on i.key = b.instance_key
     join deployments d on d.instance_key = b.instance_key and d.target_key = b.target_key
     where t.kind = 'CLUSTER' and t.provider = $1::text and t.name = $2::text and t.site_key = ${ownSite}
       and exists (select 1 from resources x where x.deployment_key = d.key and x.gone_at is null
         and x.component = b.component and x.presence = 'PRESENT')
     order by i.status_context, b.component, b.received_at desc`,
    [provider, name],
  )
}

/** The highest version of a custom resource that the cluster has shown, in digits. Null: none is known. */
export async function newestVersion(session: Session, provider: string, name: string): Promise<string | null> {
  const [row] = await session.run<{ newest: string | null }>(
    `select max(b.resource_version::numeric)::text as newest
     from targets t
     join deployments d on d.target_key = t.key
     join bundles b on b.instance_key = d.instance_key and b.target_key = d.target_key
     where t.kind = 'CLUSTER' and t.provider = $1::text and t.name = $2::text and t.site_key = ${ownSite} and b.resource_version ~ '^[0-9]{1,30}$'`,
    [provider, name],
  )
  return row?.newest ?? null
}

/** The rollouts whose instances have these status contexts. Unknown contexts are absent. */
export async function rolloutsOfContexts(
  session: Session,
  contexts: readonly string[],
): Promise<Map<string, LifecycleRolloutName>> {
  const rows = await session.run<{ context: string; rollout: LifecycleRolloutName }>(
    `select distinct on (i.status_context) i.status_context as context,
       json_build_object('kind', r.kind, 'name', r.name, 'project', r.project, 'compositeApp', r.composite_app,
         'compositeAppVersion', r.composite_app_version, 'provider', r.provider) as rollout
     from instances i join rollouts r on r.key = i.rollout_key
     where i.status_context in (select json_array_elements_text($1::text::json))
       and r.kind in ('DEPLOYMENT_INTENT_GROUP', 'CLUSTER_INTENTS')
     order by i.status_context, i.key desc`,
    [storableJson(contexts)],
  )
  return new Map(rows.map(({ context, rollout }) => [context, rollout]))
}
