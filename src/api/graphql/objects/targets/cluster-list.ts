import { clusterFilter } from '../../../../domain/nouns/cluster.ts'
import { builder } from '../../builder.ts'
import { connect, implementConnection, mapPage, pageArgs } from '../connection.ts'
import { pastArgs, pastOf } from '../past.ts'
import { Cluster } from '../refs.ts'
import { implementFilter } from '../selectors/selector.ts'
import { targetOrderArgs, toTargetOrder } from './target-order.ts'

const ClusterConnection = implementConnection('Cluster', () => Cluster, 'clusters')

export const { ref: ClusterFilterRef, read: toClusterFilter } = implementFilter(clusterFilter)

builder.queryField('clusters', (t) =>
  t.field({
    access: 'viewer',
    type: ClusterConnection,
    description: 'Clusters and cloud regions, by name if no other order is given.',
    args: {
      filter: t.arg({ type: ClusterFilterRef, description: 'Selects clusters.' }),
      ...targetOrderArgs(),
      ...pastArgs(),
      ...pageArgs(),
    },
    resolve: async (_, args, context) => {
      const filter = toClusterFilter(args.filter)
      const order = toTargetOrder(args.orderBy)
      const asOf = await pastOf(context, args)
      return connect(
        args,
        async (page) =>
          mapPage(await (await context.reader()).clusters(filter, page, order, asOf), (target) => ({
            ...target,
            asOf,
          })),
        async () => (await context.reader()).clusterCount(filter, asOf),
      )
    },
  }),
)
