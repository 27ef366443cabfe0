/** A backup of the embedded database, made while devices report: what it contains, who may make it, and what is no backup. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tarEnd, tarHeader, tarPadding } from '../../src/store/connection/embedded/tar.ts'
import { openDatabase } from '../../src/store/open.ts'
import { restoreBackup } from '../../src/store/restore.ts'
import { type Played, startFleet } from '../support/clients/fleet.ts'
import { sendOver } from '../support/clients/http-device.ts'
import { expectKept, expectSound } from '../support/databases/soundness.ts'
import { temporaryFolder } from '../support/folder.ts'
import type { Fault } from '../support/power/recorder.ts'
import { withRecorder } from '../support/power/recording.ts'
import { type Child, startNode } from '../support/servers/child.ts'
import { startProgram } from '../support/servers/program.ts'

const adminKey = 'an-admin-key-of-32-characters-ok!'
const authorization = `Bearer ${adminKey}`

async function startServer() {
  const program = startProgram({ DATA_DIR: join(temporaryFolder(), 'data'), API_AUTH: 'key', API_ADMIN_KEY: adminKey })
  onTestFinished(() => program.dispose())
  return { program, url: await program.listening }
}

const backup = (url: string, file: string, env: Record<string, string> = {}): Child =>
  startNode(['src/bin.ts', 'backup', file], { ROLLCALL_URL: url, ROLLCALL_TOKEN: adminKey, ...env })
const restore = (file: string, dataDir: string, env: Record<string, string> = {}): Child =>
  startNode(['src/bin.ts', 'restore', file], { DATA_DIR: dataDir, ...env })

/** The environment of a process whose calls fail so in the folder. */
function withFault(root: string, fault: Fault): Record<string, string> {
  const faultFile = join(temporaryFolder(), 'fault')
  writeFileSync(faultFile, JSON.stringify(fault))
  return { NODE_OPTIONS: withRecorder(), POWER_ROOT: root, POWER_FAULT: faultFile }
}

async function lastBackup(url: string): Promise<{ readonly at: string; readonly revision: string } | null> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ query: '{ lastBackup { at revision } }' }),
  })
  return ((await answer.json()) as { data: { lastBackup: { at: string; revision: string } | null } }).data.lastBackup
}

it('contains all that was acknowledged before it, however often it is broken off', async () => {
  const { program, url } = await startServer()
  const answered = new Map<string, number>()
  const fleet = startFleet(6, () => {
    const send = sendOver(() => Promise.resolve(url))
    return async (report) => {
      const outcome = await send(report)
      if (outcome) answered.set(report.reporter, (answered.get(report.reporter) ?? 0) + 1)
      return outcome
    }
  })
  const hasMore = async (count: number): Promise<void> => {
    const enough = fleet.acknowledged + count
    await expect.poll(() => fleet.acknowledged).toBeGreaterThan(enough)
  }
  await hasMore(100)
  expect(await lastBackup(url)).toBeNull()
  const folder = temporaryFolder()
  const [file, part] = [join(folder, 'of', 'today'), join(folder, 'of', 'today.part')]

  // A client that is gone does not keep the next one from it.
  const gone = await fetch(`${url}/backup`, { headers: { authorization } })
  expect(gone.status).toBe(200)
  await gone.body?.cancel()
  const killed = backup(url, file)
  await expect.poll(() => existsSync(part)).toBe(true)
  killed.process.kill('SIGKILL')
  await killed.ended
  expect(existsSync(file)).toBe(false)
  const full = backup(url, file, withFault(folder, { call: 'fsync', part: 'today.part', code: 'ENOSPC' }))
  await full.said(/^cannot write .*today: ENOSPC/)
  expect(await full.ended).toBe(1)
  expect(readdirSync(join(folder, 'of'))).toEqual([])
  expect(await lastBackup(url)).toBeNull()

  const before = new Map(answered)
  const made = backup(url, file)
  const line = await made.said(/^.*today: \d+ bytes, with all changes up to revision \d+/)
  expect(await made.ended).toBe(0)
  expect(readdirSync(join(folder, 'of'))).toEqual(['today'])
  // It has hashes of credentials.
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect((await lastBackup(url))?.revision).toBe(/revision (\d+)/.exec(line)?.[1])
  await hasMore(20)
  const played = await fleet.finish()
  await program.dispose()

  const target = join(folder, 'restored')
  const broken = restore(file, target)
  await expect.poll(() => existsSync(join(target, 'restoring'))).toBe(true)
  broken.process.kill('SIGKILL')
  await broken.ended
  expect(existsSync(join(target, 'pgdata'))).toBe(false)
  const short = restore(file, target, withFault(target, { call: 'write', part: '', code: 'ENOSPC', after: 50 }))
  await short.said(/^.*today cannot be restored into .* \(ENOSPC.*\): nothing was restored/)
  expect(await short.ended).toBe(1)
  expect(existsSync(join(target, 'pgdata'))).toBe(false)
  expect((await restoreBackup(file, target)).drift).toEqual([])
  await expect(restoreBackup(file, target)).rejects.toThrow(/is not empty/)

  const database = await openDatabase({ url: null, dataDir: target })
  onTestFinished(() => database.close())
  const rows = await database.session.run<{ reporter: string; count: number }>(
    `select d.reporter, count(*)::int as count from deployments d join reports r on r.deployment_key = d.key
     where r.verdict = 'APPLIED' group by 1`,
  )
  const kept = new Map(rows.map(({ reporter, count }) => [reporter, count]))
  for (const [reporter, count] of before) expect(kept.get(reporter)).toBeGreaterThanOrEqual(count)
  const left: Played[] = played.map(({ reporter, outcomes }) => ({
    reporter,
    outcomes: outcomes.slice(0, kept.get(reporter) ?? 0),
  }))
  await expectKept(database, left)
  await expectSound(database)
  const epochs = await database.session.run<{ ended: number | null }>('select ended from epochs order by base')
  expect(epochs.map(({ ended }) => ended === null)).toEqual([false, true])
})

describe('a file that is no backup', () => {
  const archive = (...entries: readonly (readonly [path: string, content: string])[]): Buffer =>
    zstdCompressSync(
      Buffer.concat([
        ...entries.flatMap(([path, content]) => [
          tarHeader(path, content.length),
          Buffer.from(content),
          tarPadding(content.length),
        ]),
        tarEnd,
      ]),
    )
  const complete = archive(['rollcall-backup', '1'], ['pgdata/PG_VERSION', '18'], ['rollcall-complete', '1'])

  it.each([
    ['text', Buffer.from('a dump of another database'), /is not a backup/],
    ['an empty file', Buffer.alloc(0), /is not a backup/],
    ['another archive', archive(['PG_VERSION', '18']), /is not a backup/],
    ['a part', complete.subarray(0, -10), /is damaged or incomplete|is not a backup/],
    ['one without its end', archive(['rollcall-backup', '1'], ['pgdata/PG_VERSION', '18']), /is damaged or incomplete/],
    ['one that leads elsewhere', archive(['rollcall-backup', '1'], ['../../out', 'x']), /is damaged or incomplete/],
    ['one with an absolute path', archive(['rollcall-backup', '1'], ['a/../../out', 'x']), /is damaged or incomplete/],
  ])('is refused: %s', async (_, content, reason) => {
    const folder = temporaryFolder()
    const [file, target] = [join(folder, 'file'), join(folder, 'inside', 'data')]
    writeFileSync(file, content)
    await expect(restoreBackup(file, target)).rejects.toThrow(reason)
    expect(readdirSync(folder).toSorted()).toEqual(['file', 'inside'])
    expect(readdirSync(target).filter((name) => !name.startsWith('rollcall.'))).toEqual([])
  })

  it('is one whose bytes have changed, and none where there is something', async () => {
    const { program, url } = await startServer()
    const folder = temporaryFolder()
    const file = join(folder, 'file')
    expect(await backup(url, file).ended).toBe(0)
    await program.dispose()
    const restored = restore(file, join(folder, 'restored'))
    await restored.said(/restored has all changes up to revision \d+\. A new epoch begins at \d+\.$/)
    expect(await restored.ended).toBe(0)
    const bytes = readFileSync(file)
    for (const share of [0.2, 0.5, 0.9]) {
      const changed = Buffer.from(bytes)
      const at = Math.floor(share * bytes.length)
      changed[at] = (changed[at] ?? 0) ^ 1
      writeFileSync(`${file}.changed`, changed)
      await expect(restoreBackup(`${file}.changed`, join(folder, 'data'))).rejects.toThrow(/is damaged or incomplete/)
    }
    mkdirSync(join(folder, 'taken'))
    writeFileSync(join(folder, 'taken', 'letter'), 'dear')
    await expect(restoreBackup(file, join(folder, 'taken'))).rejects.toThrow(/is not empty/)
    expect(readdirSync(join(folder, 'taken'))).toEqual(['letter'])
  })
})

it('needs an admin', async () => {
  const { url } = await startServer()
  expect((await fetch(`${url}/backup`)).status).toBe(401)
  const refused = backup(url, join(temporaryFolder(), 'file'), { ROLLCALL_TOKEN: 'wrong' })
  expect(await refused.ended).toBe(77)
})
