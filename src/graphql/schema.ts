/** Gathers the types. Importing it writes nothing: print-schema.ts does that. */
import { builder } from './builder.ts'
import './scalars.ts'
import './vocabulary.ts'
import './interfaces.ts'
import './target.ts'
import './component.ts'
import './deployment.ts'
import './deployment-list.ts'
import './rollout.ts'
import './resource.ts'
import './rollout-instance.ts'
import './counts.ts'
import './report.ts'
import './change.ts'
import './change-list.ts'
import './api-access.ts'
import './audit.ts'
import './node-query.ts'
import './feed-event.ts'
import './deployment-update.ts'
import './counts-update.ts'
import './resource-counts-update.ts'
import './rollout-update.ts'
import './register-devices.ts'
import './device-mutations.ts'
import './declare-deployments.ts'
import './forget-deployments.ts'
import './remove-deployments.ts'
import './sink.ts'
import './record-action.ts'
import './report-connectivity.ts'
import './report-resource-bundle-state.ts'
import './report-resources.ts'
import './sink-mutations.ts'

builder.queryType({ description: 'What there is. One query is answered as of one revision.' })
builder.mutationType({
  description: 'What operators say. Each answers after it is committed, with a success or with what is wrong.',
})
builder.subscriptionType({ description: 'What happens, over WebSocket (graphql-transport-ws) or server-sent events.' })

export const schema = builder.toSchema()
