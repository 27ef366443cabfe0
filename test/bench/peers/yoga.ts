/** Yoga as its tutorial sets it up. */
import { createServer } from 'node:http'
import { createSchema, createYoga } from 'graphql-yoga'
import { listen } from '../harness/listen.ts'
import { resolvers, typeDefs, typeOfChange } from './schema.ts'

const yoga = createYoga({
  schema: createSchema({ typeDefs, resolvers: { ...resolvers, Change: { __resolveType: typeOfChange } } }),
  logging: false,
})
listen(createServer(yoga))
