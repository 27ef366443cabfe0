import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, execute, hasCurl, readPage } from '../support/documentation.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

describe('docs/reporting.md', () => {
  it.skipIf(!hasCurl)('answers what it says', async () => {
    const blocks = blocksOf(readPage('docs/reporting.md'))
    await execute(blocks, { url: server.url })
    const { deployments } = await server.query('{ deployments { totalCount nodes { reports { nodes { dialect } } } } }')
    const reports: { dialect: string }[] = deployments.nodes.flatMap(
      (node: { reports: { nodes: object[] } }) => node.reports.nodes,
    )
    // Of every generation there is one.
    expect(new Set(reports.map(({ dialect }) => dialect))).toEqual(
      new Set(['margo/2024-05', 'margo/2024-06', 'margo/2024-09', 'margo/2025-10', 'margo/1.0']),
    )
  })
})
