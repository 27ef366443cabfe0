/** Fills the caches of documents, which are bounded, before the memory is measured for the first time. */

/** Characters of all documents: what both caches hold, and some more. */
const text = 1_800_000
const perDocument = 6_000

export async function fillCaches(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const fields = Array.from({ length: perDocument / 12 }, (_, n) => `a${n}: revision`).join(' ')
  let next = text / perDocument
  async function work(): Promise<void> {
    for (; next > 0; next -= 1) {
      const body = JSON.stringify({ query: `query Q${next} { ${fields} }` })
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
      })
      if (!response.ok) throw new Error(`the caches are not filled: ${response.status} ${await response.text()}`)
      await response.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
}
