/** Stock graphql-ws with a pub/sub, as its documentation shows: every subscriber executes for itself. */
import { createServer } from 'node:http'
import { buildSchema } from 'graphql'
import { useServer } from 'graphql-ws/use/ws'
import { createPubSub } from 'graphql-yoga'
import { WebSocketServer } from 'ws'
import { listen } from '../harness/listen.ts'

const pubsub = createPubSub<{ rollout: [object] }>()
const schema = buildSchema(`
  type Query { revision: String! }
  type Subscription { rollout(key: RolloutKey!): RolloutUpdate! }
  input RolloutKey { name: String! }
  type RolloutUpdate { cursor: String! rollout: Rollout! }
  type Rollout { name: String! deploymentCounts: Counts! }
  type Counts { total: Int! installed: Int! failed: Int! }
`)
const roots = { subscription: { rollout: () => pubsub.subscribe('rollout') } }

let revision = 1_780_000_000_000_000

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    revision += 3
    const rollout = { name: 'hot', deploymentCounts: { total: 100, installed: 50, failed: 0 } }
    pubsub.publish('rollout', { rollout: { cursor: String(revision), rollout } })
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
  })
})
useServer({ schema, roots }, new WebSocketServer({ server, path: '/graphql', perMessageDeflate: false }))
listen(server)
