/** kill -9 of devices, of their server, and of both: each report that was queued is in the history once, in its place. */
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/store/open.ts'
import { expectSound } from '../support/databases/soundness.ts'
import { temporaryFolder } from '../support/folder.ts'
import { someOf } from '../support/runner/depth.ts'
import { freePort } from '../support/servers/ports.ts'
import { type Program, startProgram } from '../support/servers/program.ts'
import { type Agent, type Language, languages, reportOf, startAgent } from './agent.ts'

const rounds = someOf(3, 15)
const victims = ['both', 'server', 'devices'] as const

const random = (most: number): number => Math.floor(Math.random() * (most + 1))

it('costs no report that a device in any language queued, doubles none, and keeps their order', async () => {
  const [dataDir, port] = [temporaryFolder(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const start = (): Program => {
    const program = startProgram({ DATA_DIR: dataDir, PORT: String(port) })
    onTestFinished(() => program.dispose())
    return program
  }
  let server = start()
  await server.listening
  const there = languages.filter(({ isThere }) => isThere)
  const devices = await Promise.all(there.map((language) => startDevice(language, url)))

  for (let round = 0; round < rounds; round += 1) {
    const victim = victims[round % victims.length]
    await Promise.all(devices.map((device) => device.queueSome(round)))
    if (victim !== 'devices') {
      server.child.kill('SIGKILL')
      await server.ended
    }
    if (victim !== 'server') await Promise.all(devices.map((device) => device.killAndStart()))
    if (victim !== 'devices') server = start()
    // Half of the time the next ones are killed while it starts, or they catch up.
    if (random(1) === 0) await server.listening
  }
  await server.listening
  for (const device of devices) await device.finish()
  await server.dispose()

  const database = await openDatabase({ url: null, dataDir })
  try {
    for (const { name, queued, unanswered } of devices) {
      const kept = await database.session.run<{ seq: number; message: string }>(
        `select r.seq::int as seq, r.error->>'message' as message from reports r join deployments d on d.key = r.deployment_key
         where verdict = 'APPLIED' and d.deployment_id = $1 order by r.key`,
        [name],
      )
      const seqs = kept.map(({ seq }) => seq)
      expect([name, seqs]).toEqual([name, [...new Set(seqs)].toSorted((a, b) => a - b)])
      const bySeq = new Map(kept.map(({ seq, message }) => [seq, message]))
      expect(queued.size).toBeGreaterThan(rounds)
      expect([name, [...queued].filter(([seq, message]) => bySeq.get(seq) !== message)]).toEqual([name, []])
      // A report whose caller was killed before it had an answer may be queued or not.
      expect(kept.length - queued.size).toBeLessThanOrEqual(unanswered())
      expect([name, new Set(kept.map(({ message }) => message)).size]).toEqual([name, kept.length])
    }
    await expectSound(database)
  } finally {
    await database.close()
  }
})

async function startDevice(language: Language, url: string) {
  const folder = temporaryFolder()
  const begin = (): Promise<Agent> => startAgent(language, { url, folder })
  const queued = new Map<number, string>()
  let agent = await begin()
  let lost = 0
  /** To the present process. */
  let written: string[] = []
  const answers = (): string[] => agent.lines.flatMap((line) => /^queued (\d+)$/.exec(line)?.[1] ?? [])

  function collect(): void {
    const seqs = answers()
    for (const [index, seq] of seqs.entries()) queued.set(Number(seq), written[index] ?? 'nothing was written')
    lost += written.length - seqs.length
    written = []
  }

  return {
    name: language.name,
    queued,
    unanswered: () => lost,
    /** Returns while it queues, or sends. */
    async queueSome(round: number): Promise<void> {
      const messages = Array.from({ length: 2 + random(80) }, (_, n) => `${round}.${n}`)
      const enough = written.length + 2 + random(messages.length - 2)
      written.push(...messages)
      agent.write(...messages.map((message) => reportOf(message, language.name)))
      await expect.poll(() => answers().length, { interval: 1 }).toBeGreaterThanOrEqual(enough)
      await new Promise((resolve) => setTimeout(resolve, random(30)))
    },
    async killAndStart(): Promise<void> {
      await agent.kill()
      collect()
      agent = await begin()
    },
    async finish(): Promise<void> {
      expect(await agent.ask('idle')).toBe('idle')
      collect()
      await agent.kill()
    },
  }
}
