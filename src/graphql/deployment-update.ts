import type { Change as ChangeRow } from '../domain/change.ts'
import type { Revision } from '../domain/deployment.ts'
import type { DeploymentRow } from '../store/deployments.ts'
import { builder } from './builder.ts'
import { Change } from './change.ts'
import type { Context } from './context.ts'
import { Deployment, theOne } from './deployment.ts'
import type { Source } from './source-event.ts'
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
  description: 'A deployment as of one revision.',
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'Revision', description: 'As of which revision this is.' }),
    coalesced: t.exposeInt('coalesced', {
      description: 'Further commits that were merged into this update; normally 0.',
    }),
    deployment: t.field({
      type: Deployment,
      nullable: true,
      description: 'The deployment; null when it is not there yet, or forgotten.',
      resolve: ({ deploymentId, found }, _, context) =>
        found.length < 2 ? found[0] : context.reader().then((reader) => theOne(reader, deploymentId, found)),
    }),
    changes: t.expose('changes', { type: [Change], description: 'What led here since the update before.' }),
  }),
})

builder.subscriptionField('deployment', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentUpdate,
    description: 'One deployment: as it is now, also when it is not there yet, and again whenever it changes.',
    args: {
      deploymentId: t.arg.string({ required: true, description: 'What its reporter calls it.' }),
      deviceId: t.arg.string({
        description: 'The device it runs on, or its reporter: needed when several report that id.',
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
  // What it remembers: the keys of those that were shown.
  const react: React<DeploymentUpdateRow, readonly number[]> = async (reader, event, { memory: shown }) => {
    const found = await reader.findDeployments(deploymentId, deviceId, null)
    const concerned = new Set([...(shown ?? []), ...found.map(({ key }) => key)])
    // Others may report the same id: what happens to theirs is not this one's story.
    const changes = event.changes.filter(({ deploymentKey }) => deploymentKey !== null && concerned.has(deploymentKey))
    const isNews = shown === null || event.changes.length === 0 || changes.length > 0
    const memory = found.map(({ key }) => key)
    if (!isNews) return { skip: true, memory }
    const { cursor, coalesced } = event
    return { send: { cursor, coalesced, deploymentId, found, changes }, memory }
  }
  return streamState(context, { topics: [`deployment:${deploymentId}`] }, react)
}
