/** docs/traces.md: its commands are executed, and the collector gets the trace that the page shows. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, execute, hasCurl, readPage } from '../support/documentation.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Collector, startCollector } from '../support/systems/collector.ts'

const blocks = blocksOf(readPage('docs/traces.md'))

describe.skipIf(!hasCurl)('docs/traces.md', () => {
  let collector: Collector
  let server: RunningApp
  beforeAll(async () => {
    collector = await startCollector()
    server = await startApp({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  })
  afterAll(async () => {
    await server?.stop()
    await collector?.close()
  })

  it('shows the trace that its commands make', async () => {
    await execute(blocks, { url: server.url, skip: (command) => command.includes('npm start') })
    const tree = (parent: string, depth: number): string[] =>
      collector.spans
        .filter(({ parentSpanId }) => parentSpanId === parent)
        .flatMap(({ name, spanId }) => [`${'  '.repeat(depth)}${name}`, ...tree(spanId, depth + 1)])
    const shown = blocks.find(({ language }) => language === 'tree')?.text.trimEnd()
    await expect.poll(() => tree('', 0).join('\n')).toBe(shown)
  })
})
