/** The file of a device's queue after a power cut, damage and restarts, and its lock. No server is there. */
import { appendFileSync, copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { type Agent, languages, reportOf, startAgent } from './agent.ts'
import { startServerOf } from './answering.ts'

const there = languages.filter(({ isThere }) => isThere)

describe.each(there)('the queue of a device in $name', (language) => {
  /** Reports wait: nothing answers. */
  const open = (folder: string, url = 'http://127.0.0.1:9'): Promise<Agent> => startAgent(language, { url, folder })

  async function fill(folder: string, ...messages: readonly string[]): Promise<void> {
    const agent = await open(folder)
    for (const message of messages) expect(await agent.ask(reportOf(message))).toMatch(/^queued /)
    await agent.kill()
  }

  it('has all reports but the torn one, wherever its line is cut off', async () => {
    const folder = temporaryFolder()
    await fill(folder, 'one', 'two')
    const whole = statSync(join(folder, 'journal')).size
    await fill(folder, 'three')
    const all = readFileSync(join(folder, 'journal'))
    for (const cut of [whole, whole + 1, whole + 8, whole + 9, whole + 11, whole + 30, all.length - 1]) {
      const torn = temporaryFolder()
      writeFileSync(join(torn, 'journal'), all.subarray(0, cut))
      const agent = await open(torn)
      expect([cut, await agent.ask('pending')]).toEqual([cut, 'pending 2'])
      expect([cut, await agent.ask(reportOf('instead'))]).toEqual([cut, 'queued 3'])
      await agent.kill()
      expect(messagesIn(torn)).toEqual(['one', 'two', 'instead'])
    }
  })

  it('begins anew if its first line is torn', async () => {
    const folder = temporaryFolder()
    await fill(folder, 'one')
    truncateSync(join(folder, 'journal'), 5)
    await fill(folder, 'two')
    expect(messagesIn(folder)).toEqual(['two'])
  })

  it('puts a damaged line aside, and keeps those around it', async () => {
    const folder = temporaryFolder()
    await fill(folder, 'one', 'two', 'three')
    const journal = readFileSync(join(folder, 'journal'), 'utf8')
    writeFileSync(join(folder, 'journal'), journal.replace('"two"', '"tw0"'))
    const agent = await open(folder)
    expect(await agent.ask('pending')).toBe('pending 2')
    expect(await agent.ask(reportOf('four'))).toBe('queued 4')
    await agent.kill()
    expect(readFileSync(join(folder, 'rejected'), 'utf8')).toMatch(/"tw0".*\tdamaged on the disk\n$/)
  })

  it('is one for each process', async () => {
    const folder = temporaryFolder()
    const first = await open(folder)
    await first.said(/^open$/)
    for (const other of there) {
      const second = await startAgent(other, { url: 'http://127.0.0.1:9', folder })
      await second.said(/is in use/)
      await second.kill()
      expect([other.name, second.lines.includes('open')]).toEqual([other.name, false])
    }
    expect(await first.ask(reportOf('one'))).toBe('queued 1')
    await first.kill()
    const third = await open(folder)
    expect(await third.ask('pending')).toBe('pending 1')
  })

  it('goes on with its numbers when it is empty, and stays small', async () => {
    const folder = temporaryFolder()
    const server = await startServerOf(() => ({ status: 201, text: '{"verdict":"APPLIED"}' }))
    const first = await open(folder, server.url)
    const long = 'x'.repeat(10_000)
    for (let n = 1; n <= 40; n += 1) {
      expect(await first.ask(reportOf(`${n}${long}`))).toBe(`queued ${n}`)
      await first.ask('idle')
    }
    expect(statSync(join(folder, 'journal')).size).toBeLessThan(100_000)
    await first.kill()
    const second = await open(folder, server.url)
    expect(await second.ask('pending')).toBe('pending 0')
    expect(await second.ask(reportOf('more'))).toBe('queued 41')
    await second.ask('idle')
    const boots = server.bodies.map((body) => JSON.parse(body).rollcall.boot)
    expect([boots.length, new Set(boots).size]).toEqual([41, 1])
  })

  it('is read by each of the others', async () => {
    const folder = temporaryFolder()
    await fill(folder, 'one', 'zwei "ü" \\ \u2028')
    for (const other of there) {
      const copy = temporaryFolder()
      copyFileSync(join(folder, 'journal'), join(copy, 'journal'))
      const agent = await startAgent(other, { url: 'http://127.0.0.1:9', folder: copy })
      expect([other.name, await agent.ask('pending')]).toEqual([other.name, 'pending 2'])
      expect([other.name, await agent.ask(reportOf('three'))]).toEqual([other.name, 'queued 3'])
      await agent.kill()
      expect([other.name, messagesIn(copy)]).toEqual([other.name, ['one', 'zwei "ü" \\ \u2028', 'three']])
    }
  })

  it('cuts off what a former process did not end', async () => {
    const folder = temporaryFolder()
    await fill(folder, 'one')
    appendFileSync(join(folder, 'journal'), Buffer.alloc(4096))
    await fill(folder, 'two')
    expect(messagesIn(folder)).toEqual(['one', 'two'])
  })
})

/** Of all reports in the journal. */
function messagesIn(folder: string): string[] {
  const lines = readFileSync(join(folder, 'journal'), 'utf8').split('\n')
  return lines.flatMap((line) => {
    const [, body] = /^\w{8} \d+ \S+ (.*)$/s.exec(line) ?? []
    return body === undefined ? [] : [JSON.parse(body).status.error.message]
  })
}
