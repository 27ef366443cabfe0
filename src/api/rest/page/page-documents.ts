/**
 * The GraphQL documents of the page. A server that executes only listed documents adds them to its list. They are read from the sources,
 * where each is `const name = graphql(`…`, [fragments])`, and composed with their fragments as in the page.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compose } from '../../../apps/dashboard/data/graphql.ts'
import { readBuiltPage } from './page-bundle.ts'

const folder = join(import.meta.dirname, '../../../apps/dashboard')
const declaration = /const (\w+) = graphql\(\s*`([^`]*)`(?:,\s*\[([^\]]*)\])?,?\s*\)/g

interface Declared {
  readonly text: string
  readonly fragments: readonly string[]
}

export async function readPageDocuments(): Promise<readonly string[]> {
  const page = await readBuiltPage()
  if (page) return page.documents
  const names = await readdir(folder, { recursive: true })
  const sources = await Promise.all(
    names.filter((name) => /\.tsx?$/.test(name)).map((name) => readFile(join(folder, name), 'utf8')),
  )
  const files = sources.map(declarationsOf)
  /** Fragments may be in another file. Operations are not shared, because their names may repeat between files. */
  const fragments = files.flatMap((file) => [...file].filter(([, { text }]) => isFragment(text)))
  const shared = new Map(fragments)
  if (shared.size < fragments.length) throw new Error('two fragments of the page have one name')

  function whole({ text, fragments: used }: Declared, file: ReadonlyMap<string, Declared>): string {
    const parts = used.map((name) => {
      const found = file.get(name) ?? shared.get(name)
      if (!found) throw new Error(`the page's fragment ${name} was not found`)
      return whole(found, file)
    })
    return compose(text, parts)
  }
  return files.flatMap((file) =>
    [...file.values()].filter(({ text }) => !isFragment(text)).map((declared) => whole(declared, file)),
  )
}

function declarationsOf(source: string): ReadonlyMap<string, Declared> {
  return new Map(
    [...source.matchAll(declaration)].map(([, name = '', text = '', list = '']) => {
      const fragments = list
        .split(',')
        .map((each) => each.trim())
        .filter((each) => each !== '')
      return [name, { text, fragments }]
    }),
  )
}

const isFragment = (text: string): boolean => text.trimStart().startsWith('fragment')
