/** Mercurius with its just-in-time compiler on from the first request. */
import fastify from 'fastify'
import mercurius from 'mercurius'
import { tellReady } from '../harness/listen.ts'
import { resolvers, typeDefs, typeOfChange } from './schema.ts'

const app = fastify({ keepAliveTimeout: 75_000 })
await app.register(mercurius, {
  schema: typeDefs,
  resolvers: { ...resolvers, Change: { resolveType: typeOfChange } },
  jit: 1,
})
const url = await app.listen({ port: 0, host: '127.0.0.1' })
tellReady(Number(new URL(url).port))
