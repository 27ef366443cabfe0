import type { ClusterFilter } from '../../../../store/read/targets/clusters.ts'
import { builder } from '../../builder.ts'
import { toFilter } from '../../mutations/input.ts'
import { connect, implementConnection, mapPage, pageArgs } from '../connection.ts'
import { LabelInput } from '../label.ts'
import { pastArgs, pastOf } from '../past.ts'
import { Cluster } from '../refs.ts'
import { ConnectivityEnum } from '../vocabulary.ts'
import { targetOrderArgs, toTargetOrder } from './target-order.ts'

const ClusterConnection = implementConnection('Cluster', () => Cluster, 'clusters')

const ClusterFilterRef = builder.inputType('ClusterFilter', {
  description:
    'Selects clusters. A cluster matches a field if it has any of its values; it must match all fields given. An empty list matches nothing.',
  fields: (t) => ({
    providers: t.stringList({ description: 'Providers. Cloud regions have none: the empty text.' }),
    names: t.stringList({ description: 'Names.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels. The cluster has at least one of them.' }),
    connectivity: t.field({ type: [ConnectivityEnum], description: 'Connectivity.' }),
    text: t.string({ description: 'A substring of the name or provider. Case-insensitive.' }),
  }),
})

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
      const filter: ClusterFilter = toFilter(args.filter ?? {})
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
