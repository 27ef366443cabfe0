/** What axe finds on a page. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { inPage, type Look } from '../../support/clients/shown.ts'

export const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

interface Axe {
  readonly axe: { run(options: object): Promise<{ violations: readonly Finding[] }> }
}

/** After `axe` was added to the page. */
export const findingsOf = (page: Page): Look<readonly object[]> =>
  inPage(page, async () => {
    const { violations } = await (globalThis as unknown as Axe).axe.run({ resultTypes: ['violations'] })
    return violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })),
    }))
  })
