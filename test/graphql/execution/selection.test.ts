/** The selected fields of a list's rows, for every form of document. */
import { buildSchema, type GraphQLResolveInfo, graphqlSync } from 'graphql'
import { expect, it } from 'vitest'
import { selectedFields } from '../../../src/api/graphql/execution/selection.ts'

const schema = buildSchema(`
  type Query { list: List }
  type List { nodes: [Row], edges: [Edge] }
  type Edge { node: Row, other: Row }
  type Row { a: Int, b: Int, row: Row }
`)

function asked(source: string, ...paths: readonly (readonly string[])[]): string[][] {
  const found: string[][] = []
  const note = (_: unknown, __: unknown, info: GraphQLResolveInfo): unknown[] => {
    for (const path of paths) found.push([...selectedFields(info, path)].sort())
    return []
  }
  const rootValue = { list: { nodes: note, edges: note } }
  const { errors } = graphqlSync({ schema, source, rootValue })
  expect(errors).toBeUndefined()
  return found
}

it.each([
  ['plain fields', '{ list { nodes { a row { b } } } }', [], ['a', 'row']],
  ['fields by another name', '{ list { nodes { x: a } } }', [], ['a']],
  ['fields on a condition', '{ list { nodes { a @include(if: false) b @skip(if: true) } } }', [], ['a', 'b']],
  [
    'fragments',
    '{ list { nodes { ...F ... { b } } } } fragment F on Row { ...G } fragment G on Row { a }',
    [],
    ['a', 'b'],
  ],
  ['a selection in two parts', '{ list { nodes { a } nodes { b } } }', [], ['a', 'b']],
  [
    'what lies beneath edges',
    '{ list { edges { node { a } ... { node { b row { a } } } } } }',
    ['node'],
    ['a', 'b', 'row'],
  ],
  ['nothing of what lies beside them', '{ list { edges { node { a } other { b } } } }', ['node'], ['a']],
])('tells %s', (_, source, path, names) => {
  expect(asked(source, path)).toEqual([names])
})

it('distinguishes two lists in one document', () => {
  expect(asked('{ list { x: nodes { a } y: nodes { b } } }', [])).toEqual([['a'], ['b']])
})

it('distinguishes what lies at two depths beneath one field, whichever is asked first', () => {
  const source = '{ list { edges { node { a row { b } } other { b } } } }'
  const depths: [string[], string[]][] = [
    [[], ['node', 'other']],
    [['node'], ['a', 'row']],
    [['node', 'row'], ['b']],
    [['other'], ['b']],
  ]
  for (const some of [depths, depths.toReversed()])
    expect(asked(source, ...some.map(([path]) => path), ...some.map(([path]) => path))).toEqual(
      [...some, ...some].map(([, names]) => names),
    )
})
