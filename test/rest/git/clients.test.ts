/** Requests that no Git client sends, and transfers that break off. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { contentsAt } from '../../git/harness.ts'
import { declare } from '../../support/clients/desired.ts'
import { clone, git, hasGit, startGit, whyNoGit } from '../../support/clients/git-client.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { documentOf, useRepositories } from './repositories.ts'

/** Git's processes that this one has started and that still run. */
async function processes(): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'ppid=,args='])
  return stdout
    .split('\n')
    .filter((line) => /^\s*(\d+)/.exec(line)?.[1] === String(process.pid) && /upload-pack|fast-import/.test(line))
}

describe.skipIf(!hasGit)(hasGit ? 'a repository' : `a repository: skipped, ${whyNoGit}`, () => {
  const { server, at } = useRepositories()

  describe('a request that no Git client sends', () => {
    const ask = (body: Uint8Array | string, headers: Record<string, string> = {}) =>
      fetch(`${at('new')}/git-upload-pack`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-git-upload-pack-request', 'git-protocol': 'version=2', ...headers },
        body: body as BodyInit,
      })
    const listing = '0014command=ls-refs\n00010014ref-prefix HEAD\n0000'

    it('may be compressed, as the requests of clients are', async () => {
      for (const coding of [null, '', 'Identity', 'gzip', 'GZIP', 'x-gzip']) {
        const body = coding?.toLowerCase().endsWith('gzip') ? gzipSync(listing) : listing
        const response = await ask(body, coding === null ? {} : { 'content-encoding': coding })
        expect(response.headers.get('content-type')).toBe('application/x-git-upload-pack-result')
        expect(await response.text()).toMatch(/^[0-9a-f]{44} HEAD/)
      }
    })

    it('is not decompressed beyond the size limit', async () => {
      const response = await ask(gzipSync(Buffer.alloc(64 << 20)), { 'content-encoding': 'gzip' })
      expect(response.status).toBe(413)
      expect((await ask('x', { 'content-encoding': 'gzip' })).status).toBe(400)
      expect((await ask('x', { 'content-encoding': 'br' })).status).toBe(415)
      expect((await ask('x', { 'content-type': 'application/json' })).status).toBe(415)
    })

    it('gets an error without details of the machine, and the server continues', async () => {
      const bodies = ['', 'zzzz', '0014command=ls-refs', randomBytes(1_000), '0011command=fetch0001000fno-progress0000']
      for (const body of bodies)
        for (const protocol of ['version=0', 'version=2', 'version=9:\u00e9', 'version=2;rm -rf /']) {
          const response = await ask(body, { 'git-protocol': protocol })
          const said = await response.text().catch(() => '')
          expect([200, 400]).toContain(response.status)
          expect(said).not.toMatch(/rollcall-git|tmp|usage|objects/)
        }
      expect(await contentsAt(await clone(at('new')))).toEqual({})
    })
  })

  describe.runIf(isWhole)('a transfer that breaks off', () => {
    beforeAll(async () => {
      // More than the server reads ahead of a slow client, and more than sockets hold.
      const random = (deploymentId: string) => ({
        deviceId: 'large',
        deploymentId,
        document: documentOf(randomBytes(180_000).toString('base64')),
      })
      for (const part of 'abcdefghij')
        await declare(
          server(),
          Array.from({ length: 10 }, (_, n) => random(part + n)),
        )
    })

    it('is complete the next time, and leaves no process', async () => {
      const broken = temporaryFolder()
      const child = startGit(broken, 'clone', '--progress', at('large'), 'clone')
      const packs = join(broken, 'clone/.git/objects/pack')
      await expect
        .poll(() => existsSync(packs) && readdirSync(packs).some((name) => name.startsWith('tmp_pack')))
        .toBe(true)
      if (child.pid) process.kill(-child.pid, 'SIGKILL')
      await once(child, 'close')
      await expect.poll(processes).toEqual([])
      const cloned = join(broken, 'clone')
      await git(cloned, 'pull', '-q', 'origin', 'main')
      expect(readdirSync(join(cloned, 'deployments'))).toHaveLength(100)
      expect(await git(cloned, 'fsck', '--strict')).toBe('')
    })

    it('ends the process of a client that has gone without reading', async () => {
      const refs = await fetch(`${at('large')}/info/refs?service=git-upload-pack`)
      const [, head = ''] = /([0-9a-f]{40}) HEAD/.exec(await refs.text()) ?? []
      const socket = connect(server().port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      const body = `0032want ${head}\n00000009done\n`
      socket.pause()
      socket.write(
        `POST /git/large.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-git-upload-pack-request\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      await once(socket, 'readable')
      expect(String(socket.read(12))).toBe('HTTP/1.1 200')
      expect(await processes()).toHaveLength(1)
      socket.destroy()
      await expect.poll(processes).toEqual([])
    })
  })
})
