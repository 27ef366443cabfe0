/** How devices' reports deviate from Margo's specification. */

import { deviationKinds } from '../../../../domain/deviation.ts'
import { deviationSentences } from '../../../../ingest/dialects/margo/deviations.ts'
import type { DeviationCount, DeviceDeviation } from '../../../../store/read/targets/deviations.ts'
import { builder } from '../../builder.ts'

export const DeviationKindEnum = builder.enumType('DeviationKind', {
  description: 'How a device deviates: a sentence of the Margo specification that its reports break, or its own ID.',
  values: Object.fromEntries(deviationKinds.map((kind) => [kind, { description: deviationSentences[kind] }])) as {
    readonly [Kind in (typeof deviationKinds)[number]]: { readonly description: string }
  },
})

export const DeviceDeviationRef = builder.objectRef<DeviceDeviation>('DeviceDeviation').implement({
  access: 'viewer',
  description:
    'A sentence of the Margo specification that reports of a device broke, or that its ID looks like another.',
  fields: (t) => ({
    kind: t.expose('kind', { type: DeviationKindEnum, description: 'What deviates.' }),
    count: t.exposeFloat('count', {
      description:
        'Number of reports, a whole number. Repeated and STALE reports count. Refused reports count for UNKNOWN_KIND only. 0 for ID_LOOKS_LIKE_ANOTHER.',
    }),
    lastAt: t.expose('lastAt', {
      type: 'DateTime',
      description: 'When the last of them was received, or the device was first known (server time).',
    }),
    example: t.exposeString('example', {
      nullable: true,
      description:
        "The text of the last such report, of at most 200 characters, or the ID of the other device. Null: the caller's access scope is restricted, and it can be about something outside it.",
    }),
  }),
})

const DeviationCountRef = builder.objectRef<DeviationCount>('DeviationCount').implement({
  access: 'viewer',
  description: 'The devices in service that deviate in one way, and the number of their reports that do.',
  fields: (t) => ({
    kind: t.expose('kind', { type: DeviationKindEnum, description: 'What deviates.' }),
    devices: t.exposeInt('devices', { description: 'Number of devices in service.' }),
    reports: t.exposeFloat('reports', { description: 'Number of their reports, a whole number.' }),
  }),
})

builder.queryFields((t) => ({
  deviationCounts: t.field({
    access: 'viewer',
    type: [DeviationCountRef],
    description: 'Deviations from the Margo specification, one entry for each kind. A kind without reports counts 0.',
    resolve: async (_, __, { reader }) => (await reader()).deviationCounts(),
  }),
}))
