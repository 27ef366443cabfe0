/** Apollo Client's operations, by this client. */
import { ApolloLink } from '@apollo/client'
import { print } from 'graphql'
import { Observable } from 'rxjs'
import type { Client } from './client.ts'
import { observe } from './observe.ts'

/** In the place of `HttpLink`, which queries with `@defer` need: choose between the two with `ApolloLink.split`. */
export const rollcallLink = (client: Client): ApolloLink =>
  new ApolloLink(
    ({ query, variables, operationType }) =>
      new Observable((observer) => observe(client, { kind: operationType, query: print(query), variables }, observer)),
  )
