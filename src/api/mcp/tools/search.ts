/** Objects by a part of their name. */
import { z } from 'zod'
import { pageOf } from '../answer.ts'
import { search as document } from '../documents.ts'
import { idOf, type TargetData } from '../shapes.ts'
import { defineTool } from '../tool.ts'
import { markId, quote, untrusted } from '../untrusted.ts'

const kinds = ['CLUSTER', 'DEPLOYMENT', 'DEVICE', 'RESOURCE', 'ROLLOUT'] as const

interface Data {
  readonly revision: string
  readonly search: readonly {
    readonly kind: string
    readonly match: string
    readonly name: string
    readonly node: {
      readonly id: string
      readonly deploymentId?: string
      readonly state?: string
      readonly connectivity?: string
      readonly target?: TargetData
    }
  }[]
}

const found = z.object({
  kind: z.string(),
  name: untrusted,
  match: z.string(),
  id: z.string(),
  page: z.string().nullable().describe('Null: a cluster has none.'),
  device: untrusted.nullable(),
  state: z.string().nullable(),
})

export const searchTool = defineTool({
  name: 'search',
  title: 'Search',
  description:
    'Rollouts, deployments, devices, clusters and resources whose name is, begins with, or contains a text. The other tools take these names.',
  input: {
    text: z.string().min(1).max(200),
    kinds: z.array(z.enum(kinds)).max(kinds.length).optional().describe('What to search for. Absent: everything.'),
  },
  facts: { results: z.array(found) },
  async run({ asking, signal, clock }, { text, kinds: wanted = null, limit: first }) {
    const data = await asking.ask<Data>(document, { text, kinds: wanted, first: first + 1 }, signal)
    const results = data.search.slice(0, first).map(({ kind, match, name, node }) => ({
      ...{ kind, match, name: markId(name), id: node.id },
      page: kind === 'CLUSTER' ? null : `${asking.url}/${pageOf(node.id)}`,
      ...{ device: node.target ? markId(idOf(node.target)) : null, state: node.state ?? node.connectivity ?? null },
    }))
    return {
      revision: data.revision,
      time: new Date(clock()).toISOString(),
      // Its field for a search finds the same. What is searched for may be a device's name, so no link has it.
      page: '',
      facts: { results },
      lists: { results: { total: data.search.length, how: 'at least; ask with a larger limit or a longer text' } },
      lines(kept) {
        const rows = kept.results as typeof results
        if (results.length === 0) return ['Nothing has this name.']
        return rows.map(
          ({ kind, name, device, state }) =>
            `${kind} ${quote(name)}${device ? ` on ${quote(device)}` : ''}${state === null ? '' : ` is ${state}`}`,
        )
      },
    }
  },
})
