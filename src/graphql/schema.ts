/** Builds the schema from all types. print-schema.ts writes it to schema.graphql. */
import { builder } from './builder.ts'
import './objects/scalars.ts'
import './objects/vocabulary.ts'
import './objects/interfaces.ts'
import './objects/target.ts'
import './objects/component.ts'
import './objects/deployment.ts'
import './objects/deployment-list.ts'
import './objects/groups/group.ts'
import './objects/rollout.ts'
import './objects/rollouts/rollout-list.ts'
import './objects/resource.ts'
import './objects/rollout-instance.ts'
import './objects/counts.ts'
import './objects/counts-over-time.ts'
import './objects/report.ts'
import './objects/changes/deployment-change.ts'
import './objects/changes/subject-change.ts'
import './objects/changes/change-list.ts'
import './objects/alerts/alert.ts'
import './objects/api-access.ts'
import './objects/audit.ts'
import './objects/search.ts'
import './objects/viewer.ts'
import './objects/node-query.ts'
import './subscriptions/feed-event.ts'
import './subscriptions/deployment-update.ts'
import './subscriptions/counts-update.ts'
import './subscriptions/rollout-update.ts'
import './mutations/register-devices.ts'
import './mutations/manage-devices.ts'
import './mutations/retire-devices.ts'
import './mutations/declare-deployments.ts'
import './mutations/forget-deployments.ts'
import './mutations/manage-api-keys.ts'
import './objects/sink.ts'
import './mutations/record-action.ts'
import './mutations/report-connectivity.ts'
import './mutations/report-resource-bundle-state.ts'
import './mutations/report-resources.ts'
import './mutations/manage-sinks.ts'
import './mutations/manage-alerts.ts'
import './mutations/announce-instance.ts'

builder.queryType({ description: 'Read operations. All fields of one query reflect the same revision.' })
builder.mutationType({
  description:
    'Write operations. Each returns after its commit, with a success or with an error that the caller can correct.',
})
builder.subscriptionType({ description: 'Live updates, over WebSocket (graphql-transport-ws) or server-sent events.' })

export const schema = builder.toSchema()
