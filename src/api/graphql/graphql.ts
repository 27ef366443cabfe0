/** The GraphQL API: `/graphql` over HTTP, server-sent events and WebSockets. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Admission, createAdmission } from '../../platform/limits/admission.ts'
import type { OperationLimits } from '../../platform/limits/limits.ts'
import { type Slices, sharedSlices } from '../../platform/limits/slices.ts'
import { type TraceOperation, untraced } from '../../platform/traced.ts'
import { type ApiAuth, openAuth } from '../auth/api/api-auth.ts'
import { type Credentials, createCredentials } from '../auth/api/credentials.ts'
import type { ContextDeps } from './execution/context.ts'
import { createMaskError, type ErrorLog } from './execution/errors.ts'
import { createSharedExecution } from './execution/shared-execution.ts'
import { createSubscriberGroups } from './execution/subscriber-group.ts'
import { type SubscriptionDeps, subscribeOperation } from './execution/subscription.ts'
import { createDocumentLimits } from './guards/limits.ts'
import { createFindDocument, type PersistedDocuments } from './guards/persisted-documents.ts'
import { schema } from './schema.ts'
import { createDocumentFastPath } from './transport/document-fast-path.ts'
import { createEventStreams } from './transport/event-stream.ts'
import { createHttp } from './transport/http.ts'
import { createOwnDocuments, type OwnDocuments } from './transport/own-documents.ts'
import { createRequestState } from './transport/request-state.ts'
import { createResponseCache, type YogaHandler } from './transport/response-cache.ts'
import { createWebSockets } from './transport/websocket.ts'
import { createGraphqlYoga, executeRequest } from './transport/yoga.ts'

export interface GraphqlDeps extends Omit<ContextDeps, 'limits' | 'auth' | 'slices'> {
  /** Default: those of the event loop. */
  readonly slices?: Slices | undefined
  readonly log: ErrorLog
  readonly graphiql: boolean
  /** Whether introspection is allowed. Default: if GraphiQL is enabled, which needs it. */
  readonly introspection?: boolean | undefined
  /** Limits of one operation. */
  readonly limits?: OperationLimits | undefined
  readonly admission?: Admission | undefined
  /** If set, only these documents are executed. */
  readonly documents?: PersistedDocuments | null | undefined
  /** Authentication. Default: none, every caller may do everything. */
  readonly auth?: Pick<ApiAuth, 'identify' | 'follow' | 'recheck'> | undefined
  /** Reads the credentials of a request. Default: for a server without a proxy or public URL. */
  readonly credentials?: Credentials | undefined
  /** Allowed origins of other sites (CORS, and the `Origin` of WebSockets). `*`: all. Default: none. */
  readonly origins?: readonly string[] | undefined
  /** Milliseconds between keep-alive messages on event streams and WebSockets. */
  readonly keepAlive?: number | undefined
  /** Milliseconds within which a WebSocket client must send `connection_init`. */
  readonly initTimeout?: number | undefined
  /** Default: operations are not traced. */
  readonly traced?: TraceOperation | undefined
}

export interface Graphql {
  /** `headers`: additional response headers. */
  handle(request: IncomingMessage, response: ServerResponse, headers?: Readonly<Record<string, string>>): void
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  fetch(input: string, init?: RequestInit): Promise<Response>
  readonly ownDocuments: OwnDocuments
  /** Ends every stream so that clients reconnect. Call it before the feed closes, which would complete them. */
  dispose(): Promise<void>
}

export function createGraphql(options: GraphqlDeps): Graphql {
  const {
    log,
    graphiql,
    introspection = graphiql,
    auth = openAuth,
    admission = createAdmission(),
    origins = [],
    credentials = createCredentials({ addresses: admission.addresses, publicUrl: null, origins }),
    keepAlive,
  } = options
  const deps: SubscriptionDeps = {
    ...options,
    auth,
    limits: createDocumentLimits(options.limits, admission.refuse),
    shared: createSharedExecution(),
    groups: createSubscriberGroups(),
    traced: options.traced ?? untraced,
    slices: options.slices ?? sharedSlices,
  }
  const findDocument = options.documents ? createFindDocument(options.documents, admission.refuse) : null
  const maskError = createMaskError(log)
  const eventStreams = createEventStreams({ follow: auth.follow, maskError, pingInterval: keepAlive })
  const yoga = createGraphqlYoga(deps, {
    log,
    introspection,
    origins,
    eventStreams,
    admission,
    findDocument,
  })
  const handleByYoga: YogaHandler = ({ request, response, state }, headers) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    void yoga(request, response, { state })
  }
  const documents = createDocumentFastPath((state, document, { variables, operationName }) =>
    executeRequest(deps, admission, { schema, document, variableValues: variables, operationName }, state),
  )
  const handle = createHttp({
    cache: createResponseCache({ database: options.database, documents, yoga: handleByYoga }),
    yoga: handleByYoga,
    identify: (request, seen) => auth.identify(credentials.of(request), seen),
    bodies: admission.bodies,
    origins,
    graphiql,
  })
  const webSockets = createWebSockets({
    yoga,
    auth,
    credentials,
    admission,
    findDocument,
    subscribe: (args, principal, peer) => subscribeOperation(deps, args, principal, peer),
    keepAlive,
    initTimeout: options.initTimeout,
    maskError,
  })
  let disposed: Promise<void> | null = null

  async function dispose(): Promise<void> {
    eventStreams.close()
    await webSockets.dispose()
    await yoga.dispose()
  }

  return {
    handle,
    upgrade: webSockets.upgrade,
    ownDocuments: createOwnDocuments(deps, admission, maskError),
    fetch: async (input, init = {}) => {
      const presented = { headers: Object.fromEntries(new Headers(init.headers)), socket: {} }
      const state = createRequestState({ identify: async () => auth.identify(credentials.of(presented)) })
      return yoga.fetch(input, init, { state })
    },
    dispose() {
      disposed ??= dispose()
      return disposed
    },
  }
}
