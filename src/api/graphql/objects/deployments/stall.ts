/** Why a deployment counts as stalled. */
import type { DeploymentRow } from '../../../../store/read/deployments.ts'
import type { Stall } from '../../../../store/read/stalls.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'

const StallBasisEnum = builder.enumType('StallBasis', {
  description: 'What the time of a stalled deployment is compared with.',
  values: {
    PEERS: { description: 'With the same step of other deployments of the rollout.' },
    LIMIT: { description: 'With the fixed limit of the server, because too few peers have completed the step.' },
  },
})

export const DeploymentStall = builder.objectRef<Stall>('DeploymentStall').implement({
  access: 'viewer',
  description: 'Since when a deployment has stood still, and what that is compared with.',
  fields: (t) => ({
    since: t.expose('since', { type: 'DateTime', description: 'Its last change before it stalled.' }),
    basis: t.field({
      type: StallBasisEnum,
      nullable: true,
      description:
        "What this is compared with. Null: the caller's access scope has labels, so it does not see all peers.",
      resolve: ({ usual, isCompared }) => (isCompared ? (usual ? 'PEERS' : 'LIMIT') : null),
    }),
    component: t.string({
      nullable: true,
      description: 'The component that exceeds its usual duration most. Null: the deployment as a whole, or no peers.',
      resolve: ({ usual }) => usual?.component || null,
    }),
    expectedSeconds: t.float({
      nullable: true,
      description: 'Seconds that 95 % of the peers needed at most for this step, as known now. Null: no peers.',
      resolve: ({ usual }) => (usual ? usual.p95 / 1_000 : null),
    }),
    peers: t.int({
      nullable: true,
      description: 'Number of times that peers completed this step, as known now. Null: too few.',
      resolve: ({ usual }) => usual?.peers ?? null,
    }),
  }),
})

const isUnderWay = ({ state }: Pick<DeploymentRow, 'state'>): boolean =>
  state === 'PENDING' || state === 'INSTALLING' || state === 'REMOVING'

export async function stallOf(deployment: DeploymentRow, { reader }: Pick<Context, 'reader'>): Promise<Stall | null> {
  if (!deployment.stalled) return null
  const { key, rolloutKey, changedAt, state, asOf } = deployment
  const open = await reader()
  const components = deployment.components ?? (await open.components(key, asOf)) ?? []
  const parts = components.filter(isUnderWay).map(({ name, state: of }) => ({ component: name, state: of }))
  const steps = parts.length > 0 ? parts : [{ component: '', state }]
  return (await open.stall({ key, rolloutKey, changedAt, steps }, asOf)) ?? null
}
