/** A disk that is full, read-only or fails to sync: nothing is acknowledged that is not on it, and the server says so and recovers by itself. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../../src/store/open.ts'
import { startFleet } from '../../support/clients/fleet.ts'
import { sendOver } from '../../support/clients/http-device.ts'
import { expectKept, expectSound } from '../../support/databases/soundness.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { cutPower, readSteps } from '../../support/power/cut.ts'
import type { Fault } from '../../support/power/recorder.ts'
import { withRecorder } from '../../support/power/recording.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { startProgram } from '../../support/servers/program.ts'

const lasting: readonly (readonly [Fault, string])[] = [
  [{ call: 'write', part: '', code: 'ENOSPC' }, 'the disk of the database is full'],
  [{ call: 'write', part: '', code: 'EROFS' }, 'the database is read-only'],
  [{ call: 'fsync', part: '', code: 'EIO' }, 'the database cannot read or write its files'],
]

it.runIf(isWhole)('acknowledges only what is on the disk, says what is wrong, and continues afterwards', async () => {
  const folder = temporaryFolder()
  const [root, log, faultFile] = [join(folder, 'root'), join(folder, 'log'), join(folder, 'fault')]
  mkdirSync(root)
  const start = () => {
    const started = startProgram({
      DATA_DIR: join(root, 'a', 'data'),
      NODE_OPTIONS: withRecorder(),
      POWER_ROOT: root,
      POWER_LOG: log,
      POWER_FAULT: faultFile,
    })
    onTestFinished(() => started.dispose())
    return started
  }
  let program = start()
  let url = await program.listening
  /** At once: the program reads the file meanwhile. */
  const begin = (fault: Fault): void => {
    writeFileSync(`${faultFile}.new`, JSON.stringify(fault))
    renameSync(`${faultFile}.new`, faultFile)
  }
  const warnings = (): number => program.stderr().match(/"level":"warn"/g)?.length ?? 0
  const readiness = async () => (await (await fetch(`${url}/readyz`)).json()) as { status: string; reason?: string }
  const fleet = startFleet(4, () => sendOver(() => Promise.resolve(url)))
  const continues = async (): Promise<void> => {
    const enough = fleet.acknowledged + 20
    await expect.poll(() => fleet.acknowledged).toBeGreaterThan(enough)
    expect(await readiness()).toEqual({ status: 'ready' })
  }

  await continues()
  for (const [fault, reason] of lasting) {
    const before = warnings()
    begin(fault)
    await expect.poll(readiness).toEqual({ status: 'not ready', reason })
    const { acknowledged } = fleet
    expect(await readiness()).toMatchObject({ status: 'not ready' })
    expect(fleet.acknowledged).toBe(acknowledged)
    rmSync(faultFile)
    await continues()
    expect(warnings()).toBeGreaterThan(before)
  }
  // Then the kernel takes the pages for clean. Without a checkpoint after it, the log alone has what is acknowledged.
  const before = warnings()
  begin({ call: 'fsync', part: 'pg_wal', code: 'EIO', isOnce: true })
  await expect.poll(warnings).toBeGreaterThan(before)
  await continues()

  // The process ends before it has written these pages again. Another one reads them, since the kernel has them.
  begin({ call: 'fsync', part: 'pg_wal', code: 'EIO', least: 100_000 })
  void registerMany(url)
  await expect.poll(async () => (await readiness()).status).toBe('not ready')
  program.child.kill('SIGKILL')
  await program.ended
  rmSync(faultFile)
  program = start()
  url = await program.listening
  await continues()

  const played = await fleet.finish()
  program.child.kill('SIGKILL')
  await program.ended
  const left = join(folder, 'left')
  cutPower(readSteps(log), root, left, 'nothing', Math.random)
  const database = await openDatabase({ url: null, dataDir: join(left, 'a', 'data') })
  onTestFinished(() => database.close())
  await expectKept(database, played)
  await expectSound(database)
})

/** Many pages of the log in one transaction. No answer is expected. */
function registerMany(url: string): Promise<unknown> {
  const devices = Array.from({ length: 500 }, (_, i) => ({
    deviceId: `silent-${i}`,
    name: randomBytes(90).toString('hex'),
  }))
  const query = 'mutation ($devices: [DeviceInput!]!) { registerDevices(input: { devices: $devices }) { __typename } }'
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ query, variables: { devices } })
  return fetch(`${url}/graphql`, { method: 'POST', headers, body }).catch(() => null)
}
