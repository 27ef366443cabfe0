/** Reads of one turn are loaded together, and their arguments may be large: a filter with thousands of names. */
import { expect, it } from 'vitest'
import { batched } from '../../../src/api/graphql/execution/loaders/batching.ts'

it('loads keys with equal arguments together, and makes the text of an argument once', async () => {
  const texts: string[] = []
  const filterOf = (name: string) => ({
    name,
    toJSON() {
      texts.push(name)
      return { name }
    },
  })
  const loads: [readonly number[], string, string | null][] = []
  const load = batched(async (keys: readonly number[], filter: { readonly name: string }, after: string | null) => {
    loads.push([keys, filter.name, after])
    return new Map(keys.map((key) => [key, `${filter.name} ${key}`]))
  })
  const [one, equal, other] = [filterOf('one'), filterOf('one'), filterOf('other')]
  const asked = [load(1, one, null), load(2, one, null), load(3, equal, null), load(1, other, null), load(1, one, 'x')]
  expect(await Promise.all(asked)).toEqual(['one 1', 'one 2', 'one 3', 'other 1', 'one 1'])
  expect(loads).toEqual([
    [[1, 2, 3], 'one', null],
    [[1], 'other', null],
    [[1], 'one', 'x'],
  ])
  expect(load.known(2, one, null)).toBe('one 2')
  expect(texts).toEqual(['one', 'one', 'other'])
})
