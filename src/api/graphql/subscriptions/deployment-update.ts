import type { Change as ChangeRow } from '../../../domain/change.ts'
import type { Revision } from '../../../domain/values.ts'
import type { DeploymentRow } from '../../../store/read/deployments.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { theOne } from '../objects/deployments/deployment.ts'
import { Change, Deployment } from '../objects/refs.ts'
import type { Source } from './event-source.ts'
import { type React, streamState } from './state-stream.ts'

interface DeploymentUpdateRow {
  readonly cursor: Revision
  readonly coalesced: number
  readonly deploymentId: string
  readonly found: readonly DeploymentRow[]
  readonly changes: readonly ChangeRow[]
}

const DeploymentUpdate = builder.objectRef<DeploymentUpdateRow>('DeploymentUpdate').implement({
  access: 'viewer',
  description: 'A deployment at one revision.',
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'Revision', description: 'The revision that this update reflects.' }),
    coalesced: t.exposeInt('coalesced', {
      description: 'Number of further commits that were merged into this update. Normally 0.',
    }),
    deployment: t.field({
      type: Deployment,
      nullable: true,
      description: 'The deployment. Null: it does not exist yet, or is forgotten.',
      resolve: ({ deploymentId, found }, _, context) =>
        found.length < 2 ? found[0] : context.reader().then((reader) => theOne(reader, deploymentId, found)),
    }),
    changes: t.expose('changes', { type: [Change], description: 'The changes since the previous update.' }),
  }),
})

builder.subscriptionField('deployment', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentUpdate,
    description:
      'One deployment. Sends the present state first, even if it does not exist yet, then an update whenever it changes.',
    args: {
      deploymentId: t.arg.string({ required: true, description: 'The deployment ID that the reporter assigned.' }),
      deviceId: t.arg.string({
        description:
          'The device that it runs on, or its reporter. Required if several reporters use this deployment ID.',
      }),
    },
    subscribe: (_, { deploymentId, deviceId }, context) => streamDeployment(context, deploymentId, deviceId ?? null),
    resolve: (event) => event.payload,
  }),
)

function streamDeployment(
  context: Context,
  deploymentId: string,
  deviceId: string | null,
): Source<DeploymentUpdateRow> {
  // The memory holds the keys of the deployments that were sent last.
  const react: React<DeploymentUpdateRow, readonly number[]> = async (reader, event, { memory: shown }) => {
    const found = await reader.findDeployments(deploymentId, deviceId, null)
    const concerned = new Set([...(shown ?? []), ...found.map(({ key }) => key)])
    // Other reporters may use the same deployment ID. Their changes do not concern this subscription.
    const changes = event.changes.filter(({ deploymentKey }) => deploymentKey !== null && concerned.has(deploymentKey))
    const isNews = shown === null || event.changes.length === 0 || changes.length > 0
    const memory = found.map(({ key }) => key)
    if (!isNews) return { skip: true, memory }
    const { cursor, coalesced } = event
    return { send: { cursor, coalesced, deploymentId, found, changes }, memory }
  }
  const key = `deployment ${JSON.stringify([deploymentId, deviceId])}`
  return streamState(context, key, { topics: [`deployment:${deploymentId}`] }, react)
}
