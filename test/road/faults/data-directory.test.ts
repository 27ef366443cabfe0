/** Who may open a data directory after its server was killed, whatever its files say. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../support/folder.ts'
import { type Child, startChild } from '../../support/servers/child.ts'
import { startProgram } from '../../support/servers/program.ts'

/** Takes the directory on command, so that several can take it at the same moment. */
function startRival(directory: string): Child {
  return startChild(
    `const { lockDirectory } = await import('./src/store/connection/embedded/lock-file.ts')
     let round = 0
     setInterval(() => {}, 60_000)
     process.on('SIGUSR2', () => {
       round += 1
       try { lockDirectory(process.env.DIRECTORY); console.log(round, 'locked') } catch (error) { console.log(round, error.code) }
     })
     console.log('ready')`,
    { DIRECTORY: directory },
  )
}

function start(dataDir: string) {
  const program = startProgram({ DATA_DIR: dataDir })
  onTestFinished(() => program.dispose())
  return program
}

describe('a data directory whose server was killed', () => {
  it('goes to exactly one of several that want it at the same moment, again and again', async () => {
    const directory = temporaryFolder()
    const rivals = Array.from({ length: 4 }, () => startRival(directory))
    await Promise.all(rivals.map((rival) => rival.said(/^ready$/)))
    for (let round = 1; rivals.length > 0; round += 1) {
      for (const rival of rivals) rival.process.kill('SIGUSR2')
      const lines = await Promise.all(rivals.map((rival) => rival.said(new RegExp(`^${round} `))))
      const said = lines.map((line) => line.slice(`${round} `.length))
      expect(said.toSorted()).toEqual([...Array<string>(rivals.length - 1).fill('CONFLICT'), 'locked'])
      const [winner] = rivals.splice(said.indexOf('locked'), 1)
      winner?.process.kill('SIGKILL')
      await winner?.ended
    }
  })

  it('is not held by a process that has only got its number', async () => {
    const dataDir = temporaryFolder()
    const killed = start(dataDir)
    await killed.listening
    killed.child.kill('SIGKILL')
    await killed.ended
    // As if the number had been given out again: to one that certainly lives.
    const file = join(dataDir, 'rollcall.pid')
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), pid: process.pid }))
    const next = start(dataDir)
    expect((await fetch(`${await next.listening}/readyz`)).status).toBe(200)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: next.child.pid })
  })
})
