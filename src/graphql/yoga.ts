/** HTTP: Yoga with our execution, our masking and our event streams. WebSockets use the same enveloped functions. */
import { renderGraphiQL } from '@graphql-yoga/render-graphiql'
import { createYoga, type Plugin } from 'graphql-yoga'
import type { Authentication } from './authentication.ts'
import type { ContextDeps } from './context.ts'
import { createMaskError, type ErrorLog } from './errors.ts'
import type { EventStreams } from './event-stream.ts'
import { maxBodySize, useLimits } from './limits.ts'
import { executeOperation, subscribeOperation } from './operation.ts'
import { defaultQuery } from './playground.ts'
import { schema } from './schema.ts'
import { createSharedExecution } from './shared-execution.ts'

export interface YogaOptions {
  readonly log: ErrorLog
  readonly graphiql: boolean
  /** Origins of other sites whose pages may ask; `*`: all. */
  readonly origins: readonly string[]
  readonly eventStreams: EventStreams
  readonly authentication: Authentication
}

export type Yoga = ReturnType<typeof createGraphqlYoga>

export function createGraphqlYoga(deps: ContextDeps, options: YogaOptions) {
  const { log, graphiql, origins, eventStreams, authentication } = options
  const maskError = createMaskError(log)
  return createYoga({
    schema,
    graphqlEndpoint: '/graphql',
    graphiql: graphiql && { title: 'Rollcall', defaultQuery },
    // Yoga's own page loads its scripts from elsewhere: nothing to see without the internet, and somebody else's code with it.
    renderGraphiQL,
    landingPage: false,
    multipart: false,
    batching: false,
    maxRequestBodySize: maxBodySize,
    cors: origins.length > 0 && { origin: origins.includes('*') ? '*' : [...origins], credentials: false },
    maskedErrors: { maskError },
    // What is unexpected is logged where it is masked, with its id.
    logging: false,
    plugins: [
      useSafeContentTypes(),
      authentication.plugin,
      useLimits(),
      useExecution(deps, eventStreams, authentication),
      eventStreams.plugin,
    ],
  })
}

function useExecution(deps: ContextDeps, eventStreams: EventStreams, { identityOf }: Authentication): Plugin {
  const subscriptionDeps = { ...deps, shared: createSharedExecution() }
  return {
    onExecute({ args, setExecuteFn }) {
      const identity = identityOf(args.contextValue)
      setExecuteFn((own) => executeOperation(deps, own, identity))
    },
    onSubscribe({ args, setSubscribeFn }) {
      // A WebSocket has none.
      const request: Request | undefined = args.contextValue.request
      const lastEventId = request?.headers.get('last-event-id') ?? null
      const begins = (at: number): void => void (request && eventStreams.begins(request, at))
      const identity = identityOf(args.contextValue)
      setSubscribeFn((own) => subscribeOperation(subscriptionDeps, own, identity, { lastEventId, begins }))
    },
  }
}

const contentTypes = ['application/json', 'application/graphql+json', 'application/graphql']

/** A page of another site may send forms and plain text without asking first: a mutation must not hide in them. */
function useSafeContentTypes(): Plugin {
  return {
    onRequest({ request, fetchAPI, endResponse }) {
      if (request.method !== 'POST') return
      const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
      if (contentTypes.includes(type.trim().toLowerCase())) return
      endResponse(new fetchAPI.Response(null, { status: 415, headers: { Accept: contentTypes.join(', ') } }))
    },
  }
}
