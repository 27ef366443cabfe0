/** Second step of `npm run build`: writes dist/page.json. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BuiltPage, bundlePage } from './page-bundle.ts'
import { readPageDocuments } from './page-documents.ts'

const page: BuiltPage = { ...(await bundlePage()), documents: await readPageDocuments() }
writeFileSync(join(import.meta.dirname, '../../../../dist/page.json'), JSON.stringify(page))
