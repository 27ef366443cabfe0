import type { Revision } from '../../../../domain/values.ts'
import type { DeploymentRow } from '../../../../store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import type { Parent } from '../../execution/loaders/parents.ts'
import { type Connection, connect, implementConnection, type PageArguments, pageArgs } from '../connection.ts'
import { total } from '../counts.ts'
import { pastArgs, pastOf } from '../past.ts'
import { Deployment } from '../refs.ts'
import { type DeploymentFilterInput, DeploymentFilterRef, toDeploymentFilter } from '../selectors/deployment-filter.ts'
import { gatherParents } from './deployment.ts'
import { type DeploymentOrderArguments, deploymentOrderArgs, toDeploymentOrder } from './deployment-order.ts'

export const DeploymentConnection = implementConnection('Deployment', () => Deployment, 'deployments', gatherParents)

export const deploymentListArgs = () =>
  builder.args((t) => ({
    filter: t.field({ type: DeploymentFilterRef, description: 'Selects deployments.' }),
    ...deploymentOrderArgs(),
  }))

export function deploymentsOf(
  context: Pick<Context, 'reader'>,
  parent: Parent,
  args: PageArguments & DeploymentOrderArguments & { readonly filter?: DeploymentFilterInput | null | undefined },
  asOf: Revision | null,
): Connection<DeploymentRow> {
  const filter: DeploymentFilter = toDeploymentFilter(args.filter)
  const order = toDeploymentOrder(args)
  return connect(
    args,
    async (page) => (await context.reader()).deployments(parent, filter, order, page, asOf),
    async () => {
      const reader = await context.reader()
      return (
        (await reader.searchedTotal(parent, filter, asOf)) ?? total(await reader.deploymentCounts(parent, filter, asOf))
      )
    },
  )
}

builder.queryFields((t) => ({
  deployments: t.field({
    access: 'viewer',
    type: DeploymentConnection,
    description: 'Deployments of the whole fleet.',
    args: { ...deploymentListArgs(), ...pastArgs(), ...pageArgs() },
    resolve: async (_, args, context) => {
      const asOf = await pastOf(context, args)
      return deploymentsOf(context, { of: 'fleet' }, args, asOf)
    },
  }),
}))
