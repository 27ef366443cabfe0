/** The files of docs/clients.md, run as they stand there in Node.js and in a browser, while the connection is lost. */
import { existsSync, realpathSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { delimiter, join } from 'node:path'
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startNetwork } from '../client/harness.ts'
import { findChromium, openPage, sharedBrowser } from '../support/clients/browser.ts'
import { blocksOf, readPage } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { isWhole } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { startNode } from '../support/servers/child.ts'
import { linkPackages } from '../support/servers/package.ts'

const page = readPage('docs/clients.md')
const files = Object.fromEntries(blocksOf(page).map(({ text }) => [/^\/\/ (\S+)$/m.exec(text)?.[1] ?? '?', text]))
const origin = await startOrigin()
let server: RunningApp
beforeAll(async () => {
  server = await startApp({ env: { CORS_ORIGINS: origin.url } })
})
afterAll(async () => {
  await server.stop()
  await origin.close()
})

const watching = async (kind: 'changes' | 'state' = 'changes'): Promise<number> =>
  Number(new RegExp(`rollcall_subscribers\\{kind="${kind}"\\} (\\d+)`).exec(await server.app.metrics.print())?.[1])

async function report(deploymentId: string, state: string): Promise<void> {
  const body = { deploymentId, status: { state }, components: [] }
  expect((await server.post(`/device/edge-1/deployment/${deploymentId}/status`, body)).status).toBe(201)
}

/** Writes the files into a folder, where they find the package and React. They connect to `url`. */
function unpack(url: string): string {
  const folder = temporaryFolder()
  linkPackages(folder, ['react', 'react-dom'])
  const [, setting = ''] = /`package.json` has `([^`]+)`/.exec(page) ?? []
  writeFileSync(join(folder, 'package.json'), `{ ${setting} }`)
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, name), text.replaceAll('http://127.0.0.1:4000', url))
  return folder
}

/** This Node.js, and the others on the path, such as the system's. */
function nodes(): readonly string[] {
  const found = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'))
  const others = found.filter((file) => existsSync(file) && !file.includes('node_modules'))
  return [process.execPath, ...new Set(others.map((file) => realpathSync(file)))]
}

describe('docs/clients.md', () => {
  it('says in its files how scalars are typed', () => {
    const scalars = [...readPage('schema.graphql').matchAll(/^scalar (\w+)/gm)].map(([, name]) => name)
    const named = /scalars: \{ (.*?) \}/.exec(files['codegen.ts'] ?? '')?.[1] ?? ''
    expect(named.match(/\w+(?=:)/g)).toEqual(scalars)
  })

  // The files of the page are the same for each Node.js.
  it.each(nodes().slice(0, isWhole ? undefined : 1))(
    'prints every change once, also across a lost connection (%s)',
    async (node) => {
      const network = await startNetwork(server.url)
      const deploymentId = `changes-${nodes().indexOf(node)}`
      const child = startNode([join(unpack(network.url), 'changes.js')], {}, node)
      await expect.poll(() => watching()).toBe(1)
      await report(deploymentId, 'pending')
      await child.said(/ PENDING$/)
      network.cut()
      await expect.poll(() => watching()).toBe(0)
      await report(deploymentId, 'installing')
      await report(deploymentId, 'failed')
      network.mend()
      await child.said(/ FAILED$/)
      await report(deploymentId, 'installed')
      await child.said(/ INSTALLED$/)
      const states = ['PENDING', 'INSTALLING', 'FAILED', 'INSTALLED']
      expect(child.lines).toEqual(states.map((state) => `${deploymentId} ${state}`))
      child.process.kill()
      await child.ended
      await expect.poll(() => watching()).toBe(0)
    },
  )

  it('keeps a live list, also across a lost connection', async () => {
    const network = await startNetwork(server.url)
    await report('list-b', 'failed')
    const child = startNode([join(unpack(network.url), 'list.js')])
    const shows = (...lists: string[]) => {
      const shown = () => child.lines.map((line) => (line.match(/list-\w/g) ?? []).join(' '))
      return expect.poll(shown).toEqual(lists)
    }
    await shows('list-b')
    await report('list-a', 'failed')
    await shows('list-b', 'list-a list-b')
    network.cut()
    await expect.poll(() => watching('state')).toBe(0)
    await report('list-a', 'installed')
    await report('list-c', 'failed')
    network.mend()
    await shows('list-b', 'list-a list-b', 'list-b list-c')
    child.process.kill()
    await child.ended
    await report('list-c', 'installed')
    await report('list-b', 'installed')
  })

  it('reads all pages', async () => {
    const reports = Array.from({ length: 120 }, (_, index) => ({
      deploymentId: `page-${1000 + index}`,
      deviceId: 'edge-1',
      status: { state: 'installed' },
      components: [],
    }))
    expect((await server.post('/reports', reports)).ok).toBe(true)
    const child = startNode([join(unpack(server.url), 'pages.js')])
    expect(await child.ended).toBe(0)
    const listed = child.lines.filter((line) => line.startsWith('page-'))
    expect(new Set(listed)).toEqual(new Set(reports.map(({ deploymentId }) => `${deploymentId} INSTALLED`)))
    expect(listed).toHaveLength(120)
  })
})

describe.runIf(findChromium())('docs/clients.md in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await sharedBrowser()
  })

  async function open(file: string, url: string) {
    const result = await build({
      entryPoints: [join(unpack(url), file)],
      bundle: true,
      write: false,
      format: 'esm',
      jsx: 'automatic',
      define: { 'process.env.NODE_ENV': '"production"' },
      logLevel: 'silent',
    })
    origin.script = result.outputFiles[0]?.text ?? ''
    const opened = await openPage(browser, 'about:blank')
    onTestFinished(() => opened.close())
    const lines: string[] = []
    opened.page.on('console', (message) => lines.push(message.text()))
    await opened.page.goto(origin.url)
    return { ...opened, lines }
  }

  it('page.jsx shows every row and its newest state, across a lost connection', async () => {
    const network = await startNetwork(server.url)
    await report('page-old', 'installing')
    const { page, complaints } = await open('page.jsx', network.url)
    const row = (text: string) => page.getByText(text, { exact: true }).waitFor()
    await row('page-old INSTALLING')
    await report('page-old', 'installed')
    await row('page-old INSTALLED')
    network.cut()
    await page.getByText('(disconnected)').waitFor()
    await report('page-new', 'pending')
    network.mend()
    await row('page-new PENDING')
    const { deploymentCounts } = await server.query('{ deploymentCounts { total } }')
    await row(`${deploymentCounts.total} deployments`)
    expect(complaints.filter((text) => !/WebSocket|ERR_/.test(text))).toEqual([])
    await page.close()
    await expect.poll(() => watching('state')).toBe(0)
  })
})

/** The origin of a page that is not the server's. */
async function startOrigin() {
  const served = { script: '' }
  const http = createServer((request, response) => {
    const isScript = request.url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(
      isScript
        ? served.script
        : '<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="/page.js"></script></body>',
    )
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const address = http.address()
  if (!address || typeof address === 'string') throw new Error('the origin has no port')
  return Object.assign(served, {
    url: `http://127.0.0.1:${address.port}`,
    close: () => new Promise((resolve) => http.close(resolve).closeAllConnections()),
  })
}
