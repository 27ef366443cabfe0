/** What a device does with each answer, over a server that a test can stand before. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { casesOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Passing, standBetween } from '../support/servers/between.ts'
import { type Agent, languages, reportOf, startAgent } from './agent.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

interface Setting {
  readonly agent: Agent
  readonly folder: string
  readonly requests: Passing[]
  shut(): void
  open(): void
}

type Meddle = (passing: Passing) => boolean

describe.each(languages.filter(({ isThere }) => isThere))('a device in $name', (language) => {
  async function begin(meddle: Meddle = () => false): Promise<Setting> {
    const requests: Passing[] = []
    const between = await standBetween(server.url, async (passing) => {
      requests.push(passing)
      return meddle(passing)
    })
    onTestFinished(() => between.close())
    const folder = temporaryFolder()
    const agent = await startAgent(language, { url: between.url, folder })
    return { agent, folder, requests, shut: between.shut, open: between.open }
  }

  /** The messages of a deployment's history, oldest first; a verdict instead, if nothing changed. */
  async function historyOf(deploymentId: string): Promise<string[]> {
    const rows = await server.database.session.run<{ told: string }>(
      `select case r.verdict when 'APPLIED' then r.error->>'message' else r.verdict::text end as told
       from reports r join deployments d on d.key = r.deployment_key
       where d.reporter = 'press 7' and d.deployment_id = $1 order by r.key`,
      [deploymentId],
    )
    return rows.map(({ told }) => told)
  }

  const deploymentOf = (name: string): string => `${language.name}/${name} ü"\\%`

  const answers: readonly (readonly [string, (passing: Passing) => void])[] = [
    ['a broken connection', ({ cut }) => cut()],
    ['a page of a hotel', ({ answer }) => answer(200, '<html>')],
    ['a 401', ({ answer }) => answer(401, '{"errors":[]}')],
    ['a 413 of a proxy', ({ answer }) => answer(413, '<html>')],
    ['a 400 of the port of https', ({ answer }) => answer(400, '{"code":"INVALID_REQUEST","retryable":false}')],
    ['a redirection', ({ answer }) => answer(302, '', { location: `${server.url}/graphql` })],
    ['a 503', ({ answer }) => answer(503, '{"retryable":true}')],
    ['a 500', ({ answer }) => answer(500, '')],
    ['a 429', ({ answer }) => answer(429, '')],
    ['a 403', ({ answer }) => answer(403, '{"errors":[]}')],
    ['a 410', ({ answer }) => answer(410, '{"errors":[]}')],
    ['a 404 of a wrong URL', ({ answer }) => answer(404, '{"errors":[]}')],
    ['half of an answer', ({ answer }) => answer(201, '{"verdict":"', { 'content-length': '100' })],
  ]

  it('sends again after what is no refusal of the report', async () => {
    let meddle: ((passing: Passing) => void) | null = null
    const { agent, requests, folder } = await begin((passing) => {
      const isMeant = meddle !== null
      meddle?.(passing)
      meddle = null
      return isMeant
    })
    for (const [index, [name, answer]] of casesOf(6, answers).entries()) {
      meddle = answer
      const deploymentId = deploymentOf(`again-${index}`)
      await agent.ask(reportOf(name, deploymentId))
      await agent.said(/^interrupted (?!null)\S/)
      await agent.said(/^interrupted null$/)
      expect([name, await agent.ask('idle')]).toEqual([name, 'idle'])
      expect([name, await historyOf(deploymentId), requests.length]).toEqual([name, [name], 2 * (index + 1)])
      expect([name, readAside(folder)]).toEqual([name, ''])
    }
  })

  it('waits as long as Retry-After says', async () => {
    const times: number[] = []
    const { agent } = await begin(({ answer }) => {
      times.push(performance.now())
      if (times.length === 1) answer(503, '', { 'retry-after': '1' })
      return times.length === 1
    })
    await agent.ask(reportOf('late', deploymentOf('late')))
    await agent.ask('idle')
    const [first = 0, second = 0] = times
    expect(second - first).toBeGreaterThanOrEqual(990)
  })

  it('sends one report alone, and what has collected as a backlog, in order', async () => {
    const { agent, requests, shut, open } = await begin()
    const deploymentId = deploymentOf('backlog')
    shut()
    const messages = Array.from({ length: 9 }, (_, n) => `report ${n}`)
    for (const message of messages) await agent.ask(reportOf(message, deploymentId))
    expect(await agent.ask('pending')).toBe('pending 9')
    open()
    await agent.ask('idle')
    expect(await historyOf(deploymentId)).toEqual(messages)
    await agent.ask(reportOf('the last', deploymentId))
    await agent.ask('idle')
    const own = `/device/press%207/deployment/${encodeURIComponent(deploymentId)}/status`
    expect(requests.map(({ path }) => path)).toEqual([own, '/reports', '/reports', '/reports', own])
    expect(requests.map(({ body }) => body.split('\n').length)).toEqual([1, 2, 4, 2, 1])
    const marks = requests.flatMap(({ body }) => body.split('\n')).map((body) => JSON.parse(body).rollcall)
    expect(marks.map(({ seq }) => seq)).toEqual([...marks.keys()].map((index) => index + 1))
    expect(new Set(marks.map(({ boot }) => boot)).size).toBe(1)
    expect(marks.filter(({ observedAt }) => !(Math.abs(Date.parse(observedAt) - Date.now()) < 300_000))).toEqual([])
  })

  it('puts a report aside that the server refuses, alone or among others, and goes on', async () => {
    const { agent, folder, shut, open } = await begin()
    const deploymentId = deploymentOf('refused')
    const wrong = reportOf('wrong', deploymentId, 'sideways')
    await agent.ask(wrong)
    await agent.said(/^rejected .*wrong.* .*status\.state/)
    shut()
    await agent.ask(reportOf('before', deploymentId))
    await agent.ask(reportOf('between', deploymentId))
    await agent.ask(wrong)
    await agent.ask(reportOf('after', deploymentId))
    open()
    await agent.said(/^rejected .*wrong.* .*status\.state/)
    await agent.ask('idle')
    expect(await historyOf(deploymentId)).toEqual(['before', 'between', 'after'])
    const aside = readAside(folder).split('\n').slice(0, -1)
    expect(aside.map((line) => JSON.parse(line.split('\t')[0] ?? '').rollcall.seq)).toEqual([1, 4])
    expect(aside.filter((line) => !/\t\{.*"field": ?"status.state"/.test(line))).toEqual([])
    expect(agent.lines.filter((line) => line.startsWith('rejected'))).toHaveLength(2)
  })

  it('says when the queue is full, and takes reports again when there is room', async () => {
    const { agent, shut, open, folder } = await begin()
    const deploymentId = deploymentOf('full')
    shut()
    const long = 'x'.repeat(300_000)
    const all = [1, 2, 3, 4, 5].map((n) => `${n}${long}`)
    const said: string[] = []
    for (const message of all) said.push(await agent.ask(reportOf(message, deploymentId)))
    expect(said.map((line) => line.split(' ')[0])).toEqual(['queued', 'queued', 'queued', 'refused', 'refused'])
    expect(said[4]).toMatch(/the queue is full/)
    open()
    await agent.ask('idle')
    expect(await agent.ask(reportOf('small', deploymentId))).toBe('queued 4')
    await agent.ask('idle')
    expect(await historyOf(deploymentId)).toHaveLength(4)
    expect(readFileSync(join(folder, 'journal')).length).toBeLessThan(100_000)
  })

  it('refuses a report that no server would take', async () => {
    const { agent } = await begin()
    const large = await agent.ask(reportOf('x'.repeat(1 << 20), 'large'))
    expect(large).toMatch(/^refused the report is larger than 1048576 bytes/)
    for (const deploymentId of ['', '.', '..'])
      expect(await agent.ask(reportOf('nowhere', deploymentId))).toMatch(/^refused deploymentId cannot be/)
    expect(await agent.ask('pending')).toBe('pending 0')
  })
})

function readAside(folder: string): string {
  try {
    return readFileSync(join(folder, 'rejected'), 'utf8')
  } catch {
    return ''
  }
}
