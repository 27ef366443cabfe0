/** `fetch` for what an issuer publishes. The libraries read an answer as a whole, so an answer without end would fill the memory. */

/** Bytes. Key sets of large issuers have some tens of KiB. */
const largest = 1 << 20
/** Bytes that a piece of an answer needs besides its own, at least. The sender chooses the pieces. */
const pieceCost = 512

export async function fetchBounded(
  url: string,
  options?: Omit<RequestInit, 'body'> & { readonly body?: unknown },
): Promise<Response> {
  // The libraries' types of a body are wider than those of Node.
  const response = await fetch(url, options as RequestInit)
  if (response.body === null) return response
  let size = 0
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength + pieceCost
      if (size > largest) controller.error(new Error(`the answer is larger than ${largest} bytes`))
      else controller.enqueue(chunk)
    },
  })
  return new Response(response.body.pipeThrough(bounded), response)
}
