import type { Millis } from '../../../domain/values.ts'
import type { Callback, Callbacks } from '../../../ingest/dialects/dialect.ts'
import { callbackSettings } from '../../../outlets/sinks/callback.ts'
import type { Database } from '../../../store/database.ts'
import { changeSink, createSink, deleteSink, listSinks, type Sink } from '../../../store/sinks/sinks.ts'

export interface CallbackDeps {
  readonly database: Pick<Database, 'session'>
  /** Call it after a change of the configured sinks. */
  readonly sinksChanged: () => void
  readonly clock: () => Millis
}

/** Subscriptions by callbacks are sinks. */
export function createCallbacks({ database: { session }, sinksChanged, clock }: CallbackDeps): Callbacks {
  return {
    of: async (instanceKey) => (await listSinks(session, ['CALLBACK'], instanceKey)).map(toCallback),
    async create(instanceKey, name, { url, secret = null, ...settings }) {
      const sink = { kind: 'CALLBACK', name, instanceKey, url, secret, filter: {}, settings, cursor: 0 } as const
      const created = await createSink(session, sink, clock())
      sinksChanged()
      return toCallback(created)
    },
    async change(key, { url, secret, ...settings }) {
      const sink = await changeSink(session, key, { url, settings, ...(secret === undefined ? {} : { secret }) })
      if (sink) sinksChanged()
      return sink && toCallback(sink)
    },
    delete: (key) => deleteSink(session, key),
  }
}

function toCallback(sink: Sink): Callback {
  return { ...sink, ...callbackSettings(sink) }
}
