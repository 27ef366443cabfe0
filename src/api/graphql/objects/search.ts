import { DomainError } from '../../../domain/errors.ts'
import { type Found, type SearchKind, type SearchMatch, searchKinds } from '../../../store/read/search.ts'
import { builder } from '../builder.ts'
import type { Reader } from '../execution/loaders/reader.ts'
import { maxPageSize } from '../guards/page-size.ts'
import { Node, type NodeObject } from './interfaces.ts'

interface Described {
  readonly description: string
}

const SearchKindEnum = builder.enumType('SearchKind', {
  description: 'What a search finds.',
  values: {
    ROLLOUT: { description: 'Rollouts, by name.' },
    DEVICE: { description: 'Devices in service, by ID.' },
    CLUSTER: { description: 'Clusters and cloud regions, by name.' },
    DEPLOYMENT: { description: 'Deployments, by deployment ID.' },
    RESOURCE: { description: 'Kubernetes objects, by name.' },
  } satisfies Readonly<Record<SearchKind, Described>>,
})

const SearchMatchEnum = builder.enumType('SearchMatch', {
  description: 'How a name matches the text of a search.',
  values: {
    EXACT: { description: 'It is the text.' },
    PREFIX: { description: 'It begins with the text.' },
    PART: { description: 'It contains the text.' },
  } satisfies Readonly<Record<SearchMatch, Described>>,
})

const SearchResult = builder.objectRef<Found & { readonly node: NodeObject }>('SearchResult').implement({
  access: 'viewer',
  description: 'An object whose name matches the text of a search.',
  fields: (t) => ({
    kind: t.expose('kind', { type: SearchKindEnum, description: 'What was found.' }),
    name: t.exposeString('name', { description: 'The name that matches.' }),
    match: t.expose('match', { type: SearchMatchEnum, description: 'How the name matches.' }),
    node: t.expose('node', { type: Node, description: 'The object.' }),
  }),
})

/** Characters. */
const longestText = 200

builder.queryField('search', (t) =>
  t.field({
    access: 'viewer',
    type: [SearchResult],
    description:
      'Objects by name: exact matches first, then names that begin with the text, then names that contain it. Case-insensitive. At most 20,000 names of each kind that begin with the text are examined, and for PART the newest 20,000. Of a text of three characters or more, PART also finds older deployments, their devices and their rollouts, among 2,000 deployments that the search index finds for the text.',
    args: {
      text: t.arg.string({ required: true, description: 'The text: 1 to 200 characters.' }),
      kinds: t.arg({ type: [SearchKindEnum], description: 'What to search for. Absent: everything.' }),
      first: t.arg.int({
        required: true,
        defaultValue: 20,
        description: `Number of results: 1 to ${maxPageSize}.`,
      }),
    },
    resolve: async (_, { text, kinds, first }, context) => {
      const wanted = text.trim()
      if (wanted.length === 0 || wanted.length > longestText)
        throw new DomainError('BAD_USER_INPUT', `text must have 1 to ${longestText} characters`)
      if (first < 1 || first > maxPageSize)
        throw new DomainError('BAD_USER_INPUT', `first must be from 1 to ${maxPageSize}, but is ${first}`)
      const reader = await context.reader()
      const found = await reader.search(wanted, kinds ?? searchKinds, first)
      const nodes = await Promise.all(found.map((one) => nodeOf(reader, one)))
      return found.flatMap((one, index) => {
        const node = nodes[index]
        return node ? [{ ...one, node }] : []
      })
    },
  }),
)

async function nodeOf(reader: Reader, { kind, key }: Found): Promise<NodeObject | undefined> {
  switch (kind) {
    case 'ROLLOUT':
      return reader.rollout(key, null)
    case 'DEVICE':
    case 'CLUSTER':
      return reader.target(key, null)
    case 'DEPLOYMENT':
      return reader.deployment(key, null)
    case 'RESOURCE':
      return reader.resource(key, null)
  }
}
