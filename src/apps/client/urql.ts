/** urql's operations, by this client. */
import { type Exchange, type ExecutionResult, subscriptionExchange } from '@urql/core'
import type { Client } from './client.ts'
import { observe } from './observe.ts'

/** In the place of `fetchExchange` and `subscriptionExchange`. */
export const rollcallExchange = (client: Client): Exchange =>
  subscriptionExchange({
    enableAllOperations: true,
    forwardSubscription: ({ query = '', variables }, { kind }) => ({
      subscribe: ({ next, error, complete }) => ({
        unsubscribe: observe(
          client,
          { kind, query, variables },
          { next: (result) => next(result as ExecutionResult), error, complete },
        ),
      }),
    }),
  })
