import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lockDirectory } from '../../../src/store/connection/embedded/lock-file.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { type Child, startChild } from '../../support/servers/child.ts'

/** Says `locked`, or the refusal, and stays. */
function startHolder(directory: string): Child {
  return startChild(
    `const { lockDirectory } = await import('./src/store/connection/embedded/lock-file.ts')
     setInterval(() => {}, 60_000)
     try { lockDirectory(process.env.DIRECTORY); console.log('locked') } catch (error) { console.log(error.code, error.message) }`,
    { DIRECTORY: directory },
  )
}

describe('a data directory', () => {
  it('is refused to a second process, with the process that holds it', async () => {
    const directory = temporaryFolder()
    const holder = startHolder(directory)
    await holder.said(/^locked$/)
    expect(() => lockDirectory(directory)).toThrow(
      expect.objectContaining({
        code: 'CONFLICT',
        message: expect.stringMatching(`in use by process ${holder.process.pid} on .+ since .+: stop it`),
      }),
    )
  })

  it('is refused to the process that has it, and free when it gives it back', () => {
    const directory = temporaryFolder()
    const unlock = lockDirectory(directory)
    expect(() => lockDirectory(directory)).toThrow(`in use by process ${process.pid} `)
    unlock()
    unlock()
    lockDirectory(directory)()
  })

  it('is free at once when its holder was killed', async () => {
    const directory = temporaryFolder()
    const holder = startHolder(directory)
    await holder.said(/^locked$/)
    holder.process.kill('SIGKILL')
    await holder.ended
    lockDirectory(directory)()
  })

  it('stays taken while its holder is frozen', async () => {
    const directory = temporaryFolder()
    const holder = startHolder(directory)
    await holder.said(/^locked$/)
    holder.process.kill('SIGSTOP')
    expect(() => lockDirectory(directory)).toThrow('in use')
  })

  it('goes to one of several that want it at the same moment', async () => {
    const directory = join(temporaryFolder(), 'not', 'there', 'yet')
    const holders = Array.from({ length: 6 }, () => startHolder(directory))
    const said = await Promise.all(holders.map((holder) => holder.said(/^locked$|^CONFLICT /)))
    expect(said.filter((line) => line === 'locked')).toHaveLength(1)
  })
})
