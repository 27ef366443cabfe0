/** kill -9 of the device, of the server, and of both: each report that was queued is in the history once, in its place. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/store/open.ts'
import { expectSound } from '../support/databases/soundness.ts'
import { temporaryFolder } from '../support/folder.ts'
import { someOf } from '../support/runner/depth.ts'
import { freePort } from '../support/servers/ports.ts'
import { type Program, startProgram } from '../support/servers/program.ts'
import { type Agent, languages, reportOf, startAgent } from './agent.ts'

const rounds = someOf(3, 12)
const victims = ['device', 'server', 'both'] as const

const random = (most: number): number => Math.floor(Math.random() * (most + 1))

describe.each(languages.filter(({ isThere }) => isThere))(
  'a device in $name that is killed, and its server',
  (language) => {
    it('loses no report that it queued, doubles none, and keeps their order', async () => {
      const [dataDir, folder, port] = [temporaryFolder(), temporaryFolder(), await freePort()]
      const url = `http://127.0.0.1:${port}`
      const start = (): Program => {
        const program = startProgram({ DATA_DIR: dataDir, PORT: String(port) })
        onTestFinished(() => program.dispose())
        return program
      }
      let server = start()
      await server.listening
      let agent = await startAgent(language, { url, folder })
      const queued = new Map<number, string>()
      let unanswered = 0
      let written: string[] = []

      /** What the agent has answered since the last time, in the order of what was written. */
      function collect(of: Agent): void {
        const seqs = of.lines.flatMap((line) => /^queued (\d+)$/.exec(line)?.[1] ?? [])
        for (const [index, seq] of seqs.entries()) queued.set(Number(seq), written[index] ?? 'nothing was written')
        unanswered += written.length - seqs.length
        written = []
      }

      for (let round = 0; round < rounds; round += 1) {
        const victim = victims[round % victims.length] ?? 'both'
        const messages = Array.from({ length: 1 + random(80) }, (_, n) => `${round}.${n}`)
        written.push(...messages)
        agent.write(...messages.map((message) => reportOf(message)))
        const answered = () => agent.lines.filter((line) => line.startsWith('queued')).length
        const enough = answered() + random(messages.length)
        await expect.poll(answered, { interval: 1 }).toBeGreaterThanOrEqual(Math.min(enough, written.length))
        await new Promise((resolve) => setTimeout(resolve, random(30)))
        if (victim !== 'device') {
          server.child.kill('SIGKILL')
          await server.ended
        }
        if (victim !== 'server') {
          await agent.kill()
          collect(agent)
          agent = await startAgent(language, { url, folder })
        }
        if (victim !== 'device') server = start()
        // Half of the time it is killed while it starts, or catches up.
        if (random(1) === 0) await server.listening
      }
      await server.listening
      expect(await agent.ask('idle')).toBe('idle')
      collect(agent)
      await server.dispose()

      const database = await openDatabase({ url: null, dataDir })
      try {
        const kept = await database.session.run<{ seq: number; message: string }>(
          `select seq::int as seq, error->>'message' as message from reports where verdict = 'APPLIED' order by key`,
        )
        const seqs = kept.map(({ seq }) => seq)
        expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
        const bySeq = new Map(kept.map(({ seq, message }) => [seq, message]))
        expect(queued.size).toBeGreaterThan(rounds)
        expect([...queued].filter(([seq, message]) => bySeq.get(seq) !== message)).toEqual([])
        // A report whose caller was killed may be queued or not.
        expect(kept.length - queued.size).toBeLessThanOrEqual(unanswered)
        expect(new Set(kept.map(({ message }) => message)).size).toBe(kept.length)
        await expectSound(database)
      } finally {
        await database.close()
      }
    })
  },
)
