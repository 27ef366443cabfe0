/** The GraphQL API as its shell sees it: `/graphql` over HTTP, server-sent events and WebSockets. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ApiAuth, openAuth } from '../auth/api/api-auth.ts'
import { createGate, type Gate } from '../limits/gate.ts'
import type { OperationLimits } from '../limits/limits.ts'
import type { LogHead } from '../store/database.ts'
import { createAnswerCache } from './answer-cache.ts'
import { createAuthentication } from './authentication.ts'
import type { ContextDeps } from './context.ts'
import { createCrowds } from './crowd.ts'
import { createMaskError, type ErrorLog } from './errors.ts'
import { createEventStreams } from './event-stream.ts'
import { createKnownDocuments } from './known-documents.ts'
import { createDocumentLimits } from './limits.ts'
import { executeOperation, type SubscriptionDeps, subscribeOperation } from './operation.ts'
import { createFindDocument, type PersistedDocuments } from './persisted-documents.ts'
import { schema } from './schema.ts'
import { createSharedExecution } from './shared-execution.ts'
import { createWebSockets } from './websocket.ts'
import { createGraphqlYoga, optionsFor } from './yoga.ts'

export interface GraphqlDeps extends Omit<ContextDeps, 'limits' | 'auth'> {
  readonly log: ErrorLog
  readonly graphiql: boolean
  /** Whether the schema is told to whoever asks. Without it: where GraphiQL is shown, which needs it. */
  readonly introspection?: boolean | undefined
  /** What one operation may cost. */
  readonly limits?: OperationLimits | undefined
  readonly gate?: Gate | undefined
  /** Where only these are executed. */
  readonly documents?: PersistedDocuments | null | undefined
  /** Who asks. Without it: everyone, and nobody is asked. */
  readonly auth?: Pick<ApiAuth, 'identify' | 'follow' | 'recheck'> | undefined
  /** Origins of other sites whose pages may ask (CORS, and the `Origin` of WebSockets); `*`: all. None by default. */
  readonly origins?: readonly string[] | undefined
  /** Milliseconds between signs of life on event streams and WebSockets. */
  readonly keepAlive?: number | undefined
  /** Milliseconds until a WebSocket must have said who it is. */
  readonly initTimeout?: number | undefined
}

export interface Graphql {
  /** `headers`: what the answer says besides. */
  handle(request: IncomingMessage, response: ServerResponse, headers?: Readonly<Record<string, string>>): void
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  fetch(input: string, init?: RequestInit): Promise<Response>
  /** Ends every stream so that its client reconnects elsewhere. Before the feed ends them, which would say that all was told. */
  dispose(): Promise<void>
}

export function createGraphql(options: GraphqlDeps): Graphql {
  const {
    log,
    graphiql,
    introspection = graphiql,
    auth = openAuth,
    gate = createGate(),
    origins = [],
    keepAlive,
  } = options
  const deps: SubscriptionDeps = {
    ...options,
    auth,
    limits: createDocumentLimits(options.limits, gate.refuse),
    shared: createSharedExecution(),
    crowds: createCrowds(),
  }
  const authentication = createAuthentication(auth, origins, gate.addresses)
  const findDocument = options.documents ? createFindDocument(options.documents, gate.refuse) : null
  const eventStreams = createEventStreams(authentication.follow, createMaskError(log), keepAlive)
  const yoga = createGraphqlYoga(deps, {
    log,
    graphiql,
    introspection,
    origins,
    eventStreams,
    authentication,
    gate,
    findDocument,
    note: (request, head, document) => answers.note(request, head, document),
    resultFor: (request) => documents.resultFor(request),
  })
  const documents = createKnownDocuments((request, identity, document, { query: _, variables, operationName }) => {
    const note = (head: LogHead): void => answers.note(request, head, document)
    const args = { schema, document, variableValues: variables, operationName }
    return executeOperation(deps, args, identity, optionsFor(gate, identity, request, note))
  })
  const answers = createAnswerCache({
    database: options.database,
    identify: authentication.identify,
    addresses: gate.addresses,
    origins,
    documents,
    ask: (request, response) => yoga(request, response),
  })
  const webSockets = createWebSockets(yoga, {
    auth,
    gate,
    origins,
    findDocument,
    subscribe: (args, identity) => subscribeOperation(deps, args, identity),
    keepAlive,
    initTimeout: options.initTimeout,
    maskError: createMaskError(log),
  })
  let disposed: Promise<void> | null = null

  async function dispose(): Promise<void> {
    eventStreams.close()
    await webSockets.dispose()
    await yoga.dispose()
  }

  return {
    handle: answers.handle,
    upgrade: webSockets.upgrade,
    fetch: async (input, init = {}) => yoga.fetch(input, init),
    dispose() {
      disposed ??= dispose()
      return disposed
    },
  }
}
