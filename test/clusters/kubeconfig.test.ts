import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadKubeconfig } from '../../src/ingest/clusters/kubeconfig.ts'
import { temporaryFolder } from '../support/folder.ts'

function write(...files: readonly (object | string)[]): string[] {
  const folder = temporaryFolder()
  return files.map((content, index) => {
    const file = join(folder, `config${index}`)
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    return file
  })
}

function config(name: string, server: string, more: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: { token: `token-of-${name}` } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    ...more,
  }
}

describe('the kubeconfig', () => {
  it('is several files, of which the first one to name something counts', async () => {
    const files = write(
      config('a', 'https://a', { 'current-context': 'a' }),
      config('b', 'https://b', { 'current-context': 'b' }),
      config('a', 'https://other'),
    )
    expect((await loadKubeconfig(files, 'a')).getCurrentCluster()?.server).toBe('https://a')
    expect((await loadKubeconfig(files, 'b')).getCurrentUser()?.token).toBe('token-of-b')
    expect((await loadKubeconfig(files, null)).currentContext).toBe('a')
  })

  it('says what is missing in it', async () => {
    const [file = ''] = write(config('a', 'https://a'))
    await expect(loadKubeconfig([file], 'c')).rejects.toThrow('the kubeconfig has no context "c": it has a')
    await expect(loadKubeconfig([file], null)).rejects.toThrow('no current context')
    await expect(loadKubeconfig([`${file}-not`], 'a')).rejects.toThrow(
      `${file}-not cannot be read as a kubeconfig: ENOENT`,
    )
  })

  it.each(['https://localhost.:6443', 'ftp://a', 'a'])(
    'has a server that certificates can name: %s',
    async (server) => {
      await expect(loadKubeconfig(write(config('a', server)), 'a')).rejects.toThrow(
        'the server of context "a" must be an http or https URL, and its host without a dot at the end',
      )
    },
  )

  it('is not quoted when it cannot be read', async () => {
    const [file = ''] = write('users: [{ name: a, user: { token: my-secret')
    const refusal = await loadKubeconfig([file], 'a').catch((error: unknown) => error)
    expect(String(refusal)).toContain(`${file} cannot be read as a kubeconfig`)
    expect(JSON.stringify(refusal) + String(refusal)).not.toContain('my-secret')
  })
})
