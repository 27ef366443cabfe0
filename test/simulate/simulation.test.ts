import { type AddressInfo, createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createRandom } from '../../src/apps/simulate/random.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Between, type Passing, standBetween } from '../support/servers/between.ts'
import { startNode } from '../support/servers/child.ts'
import { endDatabase } from '../support/servers/end-database.ts'
import { type Findings, type Running, simulate } from './check/checked.ts'

let server: RunningApp
let between: Between | undefined
let runs = 0

beforeAll(async () => {
  server = await startApp()
})
afterEach(() => between?.close())
afterAll(() => server.stop())

/** Until so many reports have been acknowledged, at many times the speed of life. */
async function play(url: string, acknowledged: number): Promise<{ findings: Findings; running: Running }> {
  const stop = new AbortController()
  let running: Running | undefined
  let timer: NodeJS.Timeout | undefined
  runs += 1
  const size = { devices: 30, rollouts: 2, clusters: 0, agents: 0, seed: 7, run: `run-${runs}` }
  const findings = await simulate({ url, ...size, speed: 240, duration: null }, stop.signal, (begun) => {
    running = begun
    timer = setInterval(() => {
      const { APPLIED, UNCHANGED, STALE } = begun.ledger.verdicts
      if (APPLIED + UNCHANGED + STALE >= acknowledged || begun.ledger.differences.length > 0) stop.abort()
    }, 10)
  }).finally(() => clearInterval(timer))
  return { findings, running: running ?? expect.unreachable() }
}

async function meddle(what: (passing: Passing) => Promise<boolean>): Promise<string> {
  between = await standBetween(server.url, what)
  return between.url
}

describe('a simulation', () => {
  it('finds that the server knows all that it has acknowledged', async () => {
    const { findings, running } = await play(server.url, 400)
    expect(findings).toMatchObject({ differences: [], uncertain: 0, deployments: running.deployments })
    const { APPLIED, UNCHANGED, STALE, REFUSED } = running.ledger.verdicts
    expect(REFUSED).toBe(0)
    expect(findings.reports).toBe(APPLIED + STALE)
    expect(Math.min(APPLIED, UNCHANGED)).toBeGreaterThan(0)
    expect(running.observer.received).toBeGreaterThanOrEqual(APPLIED)
  })

  it.runIf(isWhole)('retries when the server answers "not now", loses an answer or cannot be reached', async () => {
    const random = createRandom('faults')
    const failed = new Map<string, number>()
    const url = await meddle(async ({ path, body, pass, answer, cut }) => {
      const times = failed.get(path + body) ?? 0
      // The wait doubles with each failure of a request.
      const fate = times < 2 ? random.index(20) : 20
      if (fate <= 3) failed.set(path + body, times + 1)
      if (fate === 0) answer(503, '{}', { 'retry-after': '0' })
      if (fate === 1) answer(429, '{}', { 'retry-after': '0' })
      if (fate === 2) await pass()
      if (fate === 2 || fate === 3) cut()
      return fate <= 3
    })
    const { findings, running } = await play(url, 300)
    expect(findings.differences).toEqual([])
    expect(running.failedTries()).toBeGreaterThan(0)
  })

  it.runIf(isWhole)('allows for stale reports that were stored although their answer was lost', async () => {
    const unheard = new Set<string>()
    const url = await meddle(async ({ path, body, pass, answer, cut }) => {
      if (path === '/reports') return false
      const said = await pass()
      const isFirst = said.body.includes('"STALE"') && !unheard.has(body)
      if (isFirst) unheard.add(body)
      if (isFirst) cut()
      else answer(said.status, said.body)
      return true
    })
    const { findings } = await play(url, 300)
    expect(unheard.size).toBeGreaterThan(0)
    expect(findings.differences).toEqual([])
    expect(findings.uncertain).toBeGreaterThan(0)
  })

  it.runIf(isWhole)('waits as long as Retry-After says', async () => {
    const refused = new Map<string, number>()
    const early: string[] = []
    const url = await meddle(async ({ path, body, answer }) => {
      const at = refused.get(path + body)
      if (at !== undefined) {
        if (Date.now() - at < 990) early.push(path)
        return false
      }
      refused.set(path + body, Date.now())
      answer(429, '{}', { 'retry-after': '1' })
      return true
    })
    expect((await play(url, 30)).findings.differences).toEqual([])
    expect(early).toEqual([])
  })

  const liars: readonly [string, RegExp, (passing: Passing) => Promise<boolean>][] = [
    [
      'refused a valid report',
      /a valid report was refused: HTTP 422 no thanks/,
      async ({ answer }) => {
        answer(422, JSON.stringify({ error: 'no thanks' }))
        return true
      },
    ],
    [
      'lost what it acknowledged',
      /is .* but should be|reports are stored/,
      async ({ body, answer, path }) => {
        if (path === '/reports' || !body.toLowerCase().includes('"installed"')) return false
        answer(201, JSON.stringify({ acknowledgement: 'received', verdict: 'APPLIED', revision: '1' }))
        return true
      },
    ],
    [
      'wrote a report twice that it acknowledged once',
      /the verdict on .* was UNCHANGED, but should be APPLIED/,
      async ({ pass, answer }) => {
        await pass()
        const { status, body } = await pass()
        answer(status, body)
        return true
      },
    ],
    [
      'wrote something else than was reported',
      /is .* but should be/,
      async ({ body, path, answer }) => {
        if (path === '/reports') return false
        const changed = body.replace(/"(name)":"(\w)/, '"name":"x$2')
        const response = await server.post(path, changed)
        answer(response.status, await response.text())
        return true
      },
    ],
  ]
  it.each(casesOf(2, liars))('notices a server that %s', async (_, complaint, what) => {
    const { findings } = await play(await meddle(what), 150)
    expect(findings.differences.join('\n')).toMatch(complaint)
  })

  it.runIf(isWhole)('notices when another client writes into its deployments', async () => {
    const { findings } = await play(
      await meddle(async ({ pass, answer, body, path }) => {
        const { status, body: said } = await pass()
        if (path !== '/reports' && body.toLowerCase().includes('"installed"'))
          await server.post(
            path,
            body.replaceAll(/"installed"/gi, '"removing"').replace(/"rollcall":\{[^}]*\}/, '"rollcall":{}'),
          )
        answer(status, said)
        return true
      }),
      150,
    )
    expect(findings.differences).not.toEqual([])
  })
})

describe('npm run simulate', () => {
  const simulateTen = (...more: readonly string[]) => {
    const size = ['--devices', '10', '--rollouts', '1', '--speed', '60']
    return startNode(['src/bin.ts', 'simulate', '--url', server.url, ...size, ...more])
  }

  it('says what the server acknowledged, and exits with 0', async () => {
    const child = simulateTen('--run', 'program', '--duration', '1s')
    expect(await child.ended).toBe(0)
    expect(child.lines.at(-1)).toMatch(/^\d+ reports acknowledged\. The server accepted everything that it was sent\.$/)
  })

  it('exits with 1 when the server refuses what is valid', async () => {
    const url = await meddle(async ({ path, answer }) => {
      if (path.startsWith('/graphql')) return false
      answer(422, JSON.stringify({ error: 'no thanks' }))
      return true
    })
    const child = simulateTen('--url', url, '--run', 'refused', '--duration', '1s')
    expect(await child.ended).toBe(1)
    expect(child.lines.at(-1)).toMatch(/: a valid report was refused: HTTP 422 no thanks$|… and \d+ more$/)
  })

  it.runIf(isWhole)('ends in order when it is interrupted', async () => {
    const child = simulateTen('--run', 'interrupted')
    await child.said(/reports acknowledged/)
    child.process.kill('SIGINT')
    expect(await child.ended).toBe(0)
    expect(child.lines.at(-1)).toMatch(/^\d+ reports acknowledged/)
  })

  it.runIf(isWhole)('checks the server as simulate:check', async () => {
    const size = ['--devices', '10', '--rollouts', '1', '--speed', '60', '--duration', '1s', '--run', 'checked']
    const child = startNode(['test/simulate/check/run.ts', '--url', server.url, ...size])
    expect(await child.ended).toBe(0)
    expect(child.lines.at(-1)).toMatch(/^Checked 10 deployments, .*\. The server has everything that it acknowledged/)
  })

  it.runIf(isWhole)('says at once that it waits for the server', async () => {
    const child = startNode(['src/bin.ts', 'simulate', '--url', 'http://127.0.0.1:2'])
    await child.said(/^Waiting for the server: .*127\.0\.0\.1:2/)
    child.process.kill('SIGKILL')
    await child.ended
  })

  const asked: readonly [readonly string[], number, RegExp][] = [
    [['--devices', 'many'], 64, /^--devices must be a whole number from 1 to 100000, but is "many"/],
    [['--help'], 0, /^Usage: rollcall simulate/],
    ...['0x10', '1e3', ' 5', '+5', '٥'].map((text): [readonly string[], number, RegExp] => [
      ['--devices', text],
      64,
      /^--devices must be a whole number/,
    ]),
    [['--duration', '2 weeks'], 64, /^--duration must be a duration such as 90s/],
    [['--fast'], 64, /--fast/],
    [['--url', 'nowhere'], 64, /^the server's address must be a URL/],
  ]
  it.each(casesOf(2, asked))('explains %j', async (args, code, message) => {
    const child = startNode(['src/bin.ts', 'simulate', ...args])
    expect(await child.ended).toBe(code)
    expect(child.lines[0]).toMatch(message)
  })
})

describe('npm run demo', () => {
  it('starts a server, prints the address of its page, and stops everything in order', async () => {
    const child = startNode(['src/bin.ts', 'demo', '--devices', '10', '--speed', '60'], { PORT: '0' })
    const line = await child.said(/Open http:.* in a browser/)
    const [address = ''] = /http:\S+/.exec(line) ?? []
    await child.said(/reports acknowledged/)
    expect((await fetch(address)).status).toBe(200)
    child.process.kill('SIGINT')
    expect(await child.ended).toBe(0)
    expect(child.lines.at(-1)).toMatch(/^\d+ reports acknowledged\. The server accepted everything that it was sent\.$/)
  })

  it.runIf(isWhole)('ends when its database fails, because its data is lost', async () => {
    const args = ['--import', endDatabase, 'src/apps/simulate/demo.ts', '--devices', '10']
    const child = startNode(args, { PORT: '0' })
    await child.said(/reports acknowledged/)
    child.process.kill('SIGUSR2')
    expect(await child.ended).toBe(69)
    expect(child.lines).toContain(
      'The database in memory has failed and its data is lost. DATA_DIR with a directory keeps data.',
    )
  })

  it.runIf(isWhole)('says what to do when another server has the port', async () => {
    const other = createServer()
    onTestFinished(() => void other.close())
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const child = startNode(['src/bin.ts', 'demo', '--devices', '10'], { PORT: String(port), HOST: '127.0.0.1' })
    expect(await child.ended).toBe(69)
    expect(child.lines).toEqual([
      expect.stringMatching(
        new RegExp(`cannot listen on port ${port} of 127.0.0.1 .*EADDRINUSE.*: stop the other server, or set PORT$`),
      ),
    ])
  })
})
