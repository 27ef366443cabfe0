/** The page's CSV and the server's agree on which texts of devices a spreadsheet must not run. */
import { expect, it } from 'vitest'
import { csv } from '../../../src/api/export/formats/csv.ts'
import { writeList } from '../../../src/apps/dashboard/data/export.ts'

const texts = [
  '=1',
  '+1',
  '-1',
  '@a',
  '\ta',
  '\ra',
  '\na',
  '＝1',
  '＋1',
  '－1',
  '＠a',
  'a',
  ' =1',
  '"',
  '',
  '\u202ea',
  'a\r\n\u200b',
]

async function* pages() {
  yield texts.map((text) => ({ text }))
}

it('guards the same texts', async () => {
  const written = await writeList('csv', pages(), { text: ({ text }) => text })
  const encoder = await csv.encode([{ name: 'text', type: 'text' }], false)
  const exported = await encoder.add(texts.map((text) => ({ text })))
  expect(`${written}\r\n`).toBe(exported.toString())
  expect(written.match(/"'/g)).toHaveLength(10)
})
