/** The files of docs/clients.md, run as they stand there in Node.js and in a browser, while the connection is lost. */
import { existsSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, request as requestOf } from 'node:http'
import { delimiter, join } from 'node:path'
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../support/clients/browser.ts'
import { blocksOf, readPage, root } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { standBetween } from '../support/servers/between.ts'
import { startNode } from '../support/servers/child.ts'

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

/** Writes the files into a folder, where they find this project's packages. They connect to `url`. */
function unpack(url: string): string {
  const folder = temporaryFolder()
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
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

  const libraries = ['urql', 'apollo']
  // The files of the page are the same for each Node.js.
  const cases = nodes()
    .slice(0, isWhole ? undefined : 1)
    .flatMap((node, number) => libraries.map((library) => ({ library, node, number })))
  it.each(cases)(
    '$library prints every change once, also across a lost connection ($node)',
    async ({ library, node, number }) => {
      const between = await standBetween(server.url)
      onTestFinished(() => between.close())
      const deploymentId = `${library}-${number}`
      const folder = unpack(between.url)
      const child = startNode(['--import', join(folder, 'websocket.js'), join(folder, `${library}-watch.js`)], {}, node)
      await expect.poll(() => watching()).toBe(1)
      await report(deploymentId, 'pending')
      await child.said(/ PENDING$/)
      between.shut()
      await expect.poll(() => watching()).toBe(0)
      await report(deploymentId, 'installing')
      await report(deploymentId, 'failed')
      between.open()
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

  it.each(casesOf(1, libraries))('%s keeps a live list, also across a lost connection', async (library) => {
    const between = await standBetween(server.url)
    onTestFinished(() => between.close())
    const folder = unpack(between.url)
    const [one, other, third] = ['a', 'b', 'c'].map((name) => `${library}-list-${name}`) as [string, string, string]
    await report(other, 'failed')
    const child = startNode(['--import', join(folder, 'websocket.js'), join(folder, `${library}-list.js`)])
    const shows = (...lists: string[]) =>
      expect
        .poll(() =>
          child.lines.map((line) =>
            line
              .split(' ')
              .filter((word) => word.startsWith(library))
              .join(' '),
          ),
        )
        .toEqual(lists)
    await shows(other)
    await report(one, 'failed')
    await shows(other, `${one} ${other}`)
    between.shut()
    await expect.poll(() => watching('state')).toBe(0)
    await report(one, 'installed')
    await report(third, 'failed')
    between.open()
    await shows(other, `${one} ${other}`, `${other} ${third}`)
    await report(other, 'installed')
    await shows(other, `${one} ${other}`, `${other} ${third}`, third)
    child.process.kill()
    await child.ended
    await expect.poll(() => watching('state')).toBe(0)
    await report(third, 'installed')
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

  async function open(file: string, url = server.url) {
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

  it.each(casesOf(1, ['urql-page.jsx', 'apollo-page.jsx']))('%s shows every row and its newest state', async (file) => {
    const id = file.replace(/-.*/, '')
    await report(`${id}-old`, 'installing')
    const { page, complaints } = await open(file)
    const row = (text: string) => page.getByText(text, { exact: true }).waitFor()
    await row(`${id}-old INSTALLING`)
    await expect.poll(() => watching()).toBe(1)
    await report(`${id}-old`, 'installed')
    await row(`${id}-old INSTALLED`)
    await report(`${id}-new`, 'pending')
    await row(`${id}-new PENDING`)
    await report(`${id}-new`, 'failed')
    await row(`${id}-new FAILED`)
    expect(complaints).toEqual([])
    await page.close()
    await expect.poll(() => watching()).toBe(0)
  })

  it('events.js prints everything from the beginning', async () => {
    await report('source', 'installing')
    await report('source', 'failed')
    const { lines } = await open('events.js')
    await expect
      .poll(() => lines.filter((line) => line.startsWith('source')))
      .toEqual(['source INSTALLING', 'source FAILED'])
    await report('source', 'installed')
    await expect.poll(() => lines.at(-1)).toBe('source INSTALLED')
  })

  it('events.js continues after its last cursor where a proxy answers with 502 meanwhile', async () => {
    const proxy = await startProxy()
    await report('proxied', 'installing')
    const { lines } = await open('events.js', proxy.url)
    const shown = () => lines.filter((line) => line.startsWith('proxied'))
    await expect.poll(shown).toEqual(['proxied INSTALLING'])
    proxy.cut()
    await expect.poll(() => proxy.refused).toBeGreaterThan(0)
    await report('proxied', 'installed')
    proxy.open()
    await expect.poll(shown).toEqual(['proxied INSTALLING', 'proxied INSTALLED'])
    proxy.close()
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

/** A proxy in front of the server. After `cut`, it has lost the server and answers with 502. */
async function startProxy() {
  const state = { isOpen: true, refused: 0 }
  const http = createServer((request, response) => {
    if (!state.isOpen) {
      state.refused += 1
      return response.writeHead(502).end()
    }
    const { method = 'GET', headers } = request
    const sent = requestOf(server.url + request.url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.on('error', () => response.destroy()).pipe(response)
    })
    response.on('close', () => sent.destroy())
    sent.on('error', () => response.destroy()).end()
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  http.listen(0, '127.0.0.1', resolve)
  await promise
  const address = http.address()
  if (!address || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    get refused() {
      return state.refused
    },
    cut() {
      state.isOpen = false
      http.closeAllConnections()
    },
    open() {
      state.isOpen = true
    },
    close: () => http.close().closeAllConnections(),
  }
}
