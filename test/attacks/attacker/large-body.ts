/** What the largest bodies are made of. */

export const mib = 1 << 20
export const group = '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g'
export const bundle = '{"metadata":{"labels":{"emco/deployment-id":"c-a"}},"status":{"podStatuses":['

export interface LargeBody {
  readonly title: string
  readonly line: string
  readonly body: () => string
  readonly type?: string
  /** Sent to the same route before it is measured. */
  readonly first?: () => string
  readonly status: number
}

/** As many of the items as fit, at most `most`. */
export function listed(size: number, most: number, item: (index: number) => unknown, head = '[', tail = ']'): string {
  const parts: string[] = []
  let left = size - head.length - tail.length
  for (let index = 0; index < most; index += 1) {
    const text = JSON.stringify(item(index))
    left -= text.length + 1
    if (left < 0) break
    parts.push(text)
  }
  return `${head}${parts.join(',')}${tail}`
}

export const gvk = { Group: '', Version: 'v1', Kind: 'Pod' }
export const mutationOf = (name: string, input: string): string =>
  `mutation ($input: ${input}!) { ${name}(input: $input) { __typename } }`
export const asked = (input: unknown, query = mutationOf('declareDeployments', 'DeclareDeploymentsInput')): string =>
  JSON.stringify({ query, variables: { input } })
export const instance = { request: { 'rb-name': 'a', 'rb-version': '1', 'cloud-region': 'r' }, status: 'DONE' }

/** What the others are about. */
export const prepared: readonly Omit<LargeBody, 'title'>[] = [
  { line: 'PUT /v1/instance/i', body: () => JSON.stringify(instance), status: 201 },
  {
    line: `POST ${group}/actions`,
    body: () =>
      JSON.stringify({
        Actions: [{ State: 'Created' }, { State: 'Approved' }, { State: 'Instantiated', ContextId: 'c' }],
      }),
    status: 201,
  },
]
