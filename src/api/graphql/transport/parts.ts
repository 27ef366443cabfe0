/** Answers in parts (`@defer`, `@stream`) over multipart HTTP, to clients that ask for them. All others get the whole answer at once. */
import type { Plugin } from 'graphql-yoga'
import { formatResult, type MaskError, maskResult } from '../execution/errors.ts'
import type { PartsFormat } from '../execution/executor.ts'
import { formatPart } from '../execution/parts.ts'
import { boundary, partOf } from './event-format.ts'
import { type StateContext, stateOf } from './request-state.ts'

interface Asked {
  readonly format: PartsFormat
  /** Parameters of the answer's `multipart/mixed`. */
  readonly parameters: string
}

/** By parameters of `multipart/mixed` in Accept. Without one: the present draft of the specification. */
const formats: readonly (Asked & { readonly form: RegExp })[] = [
  { form: /;\s*deferspec="?20220824"?/i, format: 'paths', parameters: ';deferSpec=20220824' },
  { form: /;\s*incrementalspec="?v0\.2"?/i, format: 'ids', parameters: ';incrementalSpec=v0.2' },
  { form: /^\s*multipart\/mixed\s*(;\s*(boundary|q)=[^;]*)*$/i, format: 'ids', parameters: '' },
]

/** Characters of Accept that are read. */
const longestAccept = 500

/** Null: the client takes no parts. */
export function partsFormatOf(accept: string | null | undefined): Asked | null {
  const types = (accept ?? '').slice(0, longestAccept).split(',')
  const asked = types.filter((type) => /^\s*multipart\/mixed\s*(;|$)/i.test(type))
  return asked.flatMap((type) => formats.find(({ form }) => form.test(type)) ?? [])[0] ?? null
}

export function useParts(maskError: MaskError): Plugin<object, StateContext> {
  return {
    onResultProcess({ request, setResultProcessor, serverContext }) {
      const { parts } = stateOf(serverContext)
      const asked = partsFormatOf(request.headers.get('accept'))
      if (!parts || !asked) return
      setResultProcessor((first, { ReadableStream, Response }) => {
        const encoder = new TextEncoder()
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            const send = (text: string): void => controller.enqueue(encoder.encode(text))
            send(`${boundary}${partOf(JSON.stringify(formatResult(maskResult(first as object, maskError))))}`)
            const followed = parts.follow((part) => {
              send(partOf(JSON.stringify(formatPart(part, maskError))))
              if (!part.hasNext) send('--\r\n')
            })
            // A client that has left takes nothing.
            followed.then(() => controller.close()).catch(() => undefined)
          },
        })
        const headers = {
          'Content-Type': `multipart/mixed;boundary="graphql"${asked.parameters}`,
          'Cache-Control': 'no-cache, no-transform',
          'X-Accel-Buffering': 'no',
        }
        return new Response(body, { status: 200, headers })
      }, 'multipart/mixed')
    },
  }
}
