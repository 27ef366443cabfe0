import type { Connectivity } from '../target.ts'
import { type FilterDeclaration, flag, labels, text, texts, values } from './filter.ts'

export const clusterFilter = {
  name: 'Cluster',
  one: 'a cluster',
  many: 'clusters',
  isFlat: true,
  conditions: {
    providers: texts('Providers. Cloud regions have none: the empty text.'),
    names: texts('Names.'),
    labels: labels('Labels. The cluster has at least one of them.'),
    connectivity: values<Connectivity>('Connectivity')('Connectivity.'),
    inMaintenance: flag('Whether the cluster is in a maintenance window.'),
    text: text('A substring of the name or provider. Case-insensitive.'),
  },
} as const satisfies FilterDeclaration
