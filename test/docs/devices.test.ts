/** The programs of docs/devices.md, as they stand there. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { programs } from '../device/programs.ts'
import { blocksOf, readPage, usualUrl } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const blockOf = (page: string, name: string): string =>
  blocksOf(readPage(page)).find(({ language }) => language === name)?.text ?? ''

async function devicesOf({ database }: RunningApp, deploymentId: string): Promise<string[]> {
  const rows = await database.session.run<{ reporter: string }>(
    `select reporter from deployments where deployment_id = $1 and state = 'INSTALLED' order by reporter`,
    [deploymentId],
  )
  return rows.map(({ reporter }) => reporter)
}

describe('docs/devices.md', () => {
  it('has a program in each language that reports', async () => {
    const server = await startApp()
    try {
      for (const { name, run } of programs) {
        const folder = temporaryFolder()
        const text = blockOf('docs/devices.md', name).replaceAll(usualUrl, server.url)
        await run(folder, text.replaceAll('/var/lib/agent/reports', join(folder, 'reports')))
      }
      const devices = { js: 'press-7', python: 'press-8', c: 'press-9' }
      expect(await devicesOf(server, 'pump')).toEqual(programs.map(({ name }) => devices[name]))
    } finally {
      await server.stop()
    }
  })

  it('has the limits of each program', () => {
    const page = readPage('docs/devices.md')
    const [typescript, python, c] = [
      'src/apps/device/device.ts',
      'examples/rollcall_device.py',
      'examples/rollcall_device.h',
    ].map(readPage)
    expect(page).toMatch(/`maxBytes`, 8 MiB.*larger than 1 MiB.*500 reports and 1 MiB.*up to 1 s.*at most 60 s/s)
    expect(typescript).toMatch(/maxBytes = 8 << 20/)
    expect(typescript).toMatch(/largestBatch = \{ reports: 500, bytes: 1 << 20 \}/)
    expect(python).toMatch(/max_bytes=8 << 20/)
    expect(python).toMatch(/MOST_REPORTS, MOST_BYTES = 500, 1 << 20/)
    expect(c).toMatch(/max_bytes = 8 << 20/)
    expect(c).toMatch(/most \* 2 > 500/)
  })
})
