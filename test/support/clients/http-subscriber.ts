/** A browser's EventSource on `changes`, of any server: it reconnects with its last id until it is closed. */
import type { Revision } from '../../../src/domain/values.ts'

interface HttpSubscriber {
  readonly revisions: readonly Revision[]
  readonly resets: readonly string[]
  /** How often it was cut off. */
  readonly cuts: number
  leave(): Promise<void>
}

const document =
  'subscription ($after: Revision) { changes(after: $after) { cursor change { revision } reset { reason } } }'

interface Told {
  readonly cursor: string
  readonly change: { readonly revision: string } | null
  readonly reset: { readonly reason: string } | null
}

/** `address` is asked each time: a server that comes back may have another. */
export function subscribe(
  address: () => Promise<string>,
  after: Revision,
  credential: Readonly<Record<string, string>> = {},
): HttpSubscriber {
  const revisions: Revision[] = []
  const resets: string[] = []
  const leaving = new AbortController()
  let lastId = String(after)
  let cuts = 0

  async function listen(): Promise<void> {
    const query = new URLSearchParams({ query: document, variables: JSON.stringify({ after: String(after) }) })
    const response = await fetch(`${await address()}/graphql?${query}`, {
      headers: { ...credential, accept: 'text/event-stream', 'last-event-id': lastId },
      signal: leaving.signal,
    })
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) hear(block)
    }
  }

  function hear(block: string): void {
    const [, id] = /^id: (\d+)$/m.exec(block) ?? []
    const [, data] = /^data: (\{"data".+)$/m.exec(block) ?? []
    if (id === undefined || data === undefined) return
    lastId = id
    const { change, reset }: Told = JSON.parse(data).data.changes
    if (change) revisions.push(Number(change.revision))
    if (reset) resets.push(reset.reason)
  }

  const listening = (async () => {
    while (!leaving.signal.aborted) {
      await listen().catch(() => undefined)
      cuts += 1
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  return {
    revisions,
    resets,
    get cuts() {
      return cuts
    },
    async leave() {
      leaving.abort()
      await listening
    },
  }
}
