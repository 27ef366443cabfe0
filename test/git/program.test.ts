import { execFileSync } from 'node:child_process'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFolder } from '../../src/api/git/folder.ts'
import { findGit } from '../../src/api/git/program.ts'
import { hasGit, whyNoGit } from '../support/clients/git-client.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startNode } from '../support/servers/child.ts'

const script = `
  import { openSync } from 'node:fs'
  import { findGit } from './src/api/git/program.ts'
  const git = await findGit({ program: 'git', path: process.env.PATH })
  try {
    for (;;) openSync('/dev/null')
  } catch {}
  try {
    git.run(['version'], { directory: '/', signal: new AbortController().signal })
  } catch ({ code }) {
    setImmediate(() => console.log('refused with', code))
  }
`

it.skipIf(!hasGit)('a process that lacks file descriptors cannot start git, and continues', async () => {
  const limited = 'ulimit -n 60; exec "$0" --input-type=module-typescript -e "$1"'
  const child = startNode(['-c', limited, process.execPath, script], {}, '/bin/sh')
  await child.said(/^refused with UNAVAILABLE$/)
  expect(await child.ended).toBe(0)
})

describe.skipIf(!hasGit)(hasGit ? 'the server’s git' : `the server’s git: skipped, ${whyNoGit}`, () => {
  it('runs without the configuration of the machine, of a user or of the environment, and without hooks', async () => {
    const home = temporaryFolder()
    writeFileSync(join(home, '.gitconfig'), '[alias]\n\tversion = !echo attacked\n[core]\n\thooksPath = /tmp/hooks\n')
    const before = { ...process.env }
    onTestFinished(() => {
      process.env = before
    })
    const more = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.sshCommand', GIT_CONFIG_VALUE_0: 'x', GIT_TRACE: '1' }
    Object.assign(process.env, {
      HOME: home,
      XDG_CONFIG_HOME: home,
      GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
      ...more,
    })
    const program = (await findGit({ program: 'git', path: before.PATH ?? '' })) ?? expect.unreachable()
    const directory = temporaryFolder()
    execFileSync('git', ['init', '--bare', '-q', directory], { env: before })
    mkdirSync(join(directory, 'hooks'), { recursive: true })
    const said = async (...command: string[]) => {
      const { input, output, ended } = program.run(command, { directory, signal: new AbortController().signal })
      input.end()
      const all = await text(output)
      await ended
      return all
    }
    const settings = (await said('config', '--list', '--show-origin')).split('\n').filter(Boolean)
    // Of the command itself, and of the repository that the server has made.
    expect(settings.filter((line) => !/^(command line:|file:(\.\/)?config\t)/.test(line))).toEqual([])
    expect(settings).toContainEqual(expect.stringMatching(/^command line:\s+core\.hookspath=\/dev\/null$/i))
    expect(settings.join('\n')).not.toMatch(/sshcommand|alias/i)
  })

  it('has a folder that other users cannot read', async () => {
    const folder = createFolder(temporaryFolder())
    const path = await folder.path()
    expect(statSync(path).mode & 0o077).toBe(0)
    await folder.remove()
  })
})
