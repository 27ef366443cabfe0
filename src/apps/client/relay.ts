/** Relay's network, by this client. */
import { Network, Observable, type RequestParameters, type Variables } from 'relay-runtime'
import type { Client } from './client.ts'
import { observe } from './observe.ts'

/** Of an `Environment`. Documents need their text, so the compiler must not persist them. */
export function rollcallNetwork(client: Client): ReturnType<typeof Network.create> {
  const ask = ({ text, operationKind: kind }: RequestParameters, variables: Variables) =>
    Observable.create<never>((sink) =>
      observe(
        client,
        { kind, query: text ?? '', variables },
        { ...sink, next: (result) => sink.next(result as never) },
      ),
    )
  return Network.create(ask, ask)
}
