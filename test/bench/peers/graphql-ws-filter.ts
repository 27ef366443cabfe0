/** Stock graphql-ws with a pub/sub and a filter, as its documentation shows: every subscriber looks at every event. */
import { createServer } from 'node:http'
import { buildSchema } from 'graphql'
import { useServer } from 'graphql-ws/use/ws'
import { createPubSub, filter, pipe } from 'graphql-yoga'
import { WebSocketServer } from 'ws'
import { listen } from '../harness/listen.ts'

interface Event {
  readonly deployment: {
    readonly cursor: string
    readonly deployment: { readonly deploymentId: string; readonly state: string }
  }
}

const pubsub = createPubSub<{ deployment: [Event] }>()
const schema = buildSchema(`
  type Query { revision: String! }
  type Subscription { deployment(deploymentId: String!): DeploymentUpdate! }
  type DeploymentUpdate { cursor: String! deployment: Deployment }
  type Deployment { deploymentId: String! state: String! }
`)
const roots = {
  subscription: {
    deployment: ({ deploymentId }: { deploymentId: string }) =>
      pipe(
        pubsub.subscribe('deployment'),
        filter((event) => event.deployment.deployment.deploymentId === deploymentId),
      ),
  },
}

let revision = 1_780_000_000_000_000

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => {
    body += chunk
  })
  request.on('end', () => {
    revision += 3
    const { deploymentId, status } = JSON.parse(body) as { deploymentId: string; status: { state: string } }
    pubsub.publish('deployment', {
      deployment: { cursor: String(revision), deployment: { deploymentId, state: status.state } },
    })
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
  })
})
useServer({ schema, roots }, new WebSocketServer({ server, path: '/graphql', perMessageDeflate: false }))
listen(server)
