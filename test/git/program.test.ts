import { expect, it } from 'vitest'
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

it('a process that lacks file descriptors cannot start git, and continues', async () => {
  const limited = 'ulimit -n 60; exec "$0" --input-type=module-typescript -e "$1"'
  const child = startNode(['-c', limited, process.execPath, script], {}, '/bin/sh')
  await child.said(/^refused with UNAVAILABLE$/)
  expect(await child.ended).toBe(0)
})
