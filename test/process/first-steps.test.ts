/** What the terminal shows a newcomer is executed in its order: the watch shows the report before it, and the next one. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstSteps } from '../../src/server/process/first-steps.ts'
import { hasCurl, openStream } from '../support/documentation.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

// The server is in this process: a call that blocks would wait for itself.
const execute = promisify(execFile)
const open = { device: { methods: ['open'] }, api: { methods: ['open'] } }
const closed = { device: { methods: ['token'] }, api: { methods: ['key'] } }
const commandsOf = (text: string): string[] =>
  [...text.matchAll(/^ {2}\w+ +(curl .*)$/gm)].map(([, command = '']) => command)

describe('the first steps', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())

  it.skipIf(!hasCurl)('work as they are', async () => {
    const [report = '', watch = '', query = ''] = commandsOf(firstSteps(server.url, open, true))
    const run = async (command: string) => JSON.parse((await execute('sh', ['-c', command])).stdout)
    expect(await run(report)).toMatchObject({ verdict: 'APPLIED' })
    const stream = openStream(watch)
    await stream.goesOnWith('event: next\ndata: {"data":{"deployment":{"deployment":{"state":"INSTALLING"}}}}')
    await run(report.replace('installing', 'installed'))
    await stream.goesOnWith('event: next\ndata: {"data":{"deployment":{"deployment":{"state":"INSTALLED"}}}}')
    stream.child.kill()
    expect((await run(query)).data.deployments.nodes).toEqual([{ deploymentId: 'hello', state: 'INSTALLED' }])
  })

  it('begin with the page, and show credentials where they are asked for', () => {
    const text = firstSteps('https://rollcall.example', closed, false)
    expect(text.trim().split('\n')[0]).toBe('Look:    https://rollcall.example/')
    const [report = '', ...others] = commandsOf(text)
    expect(report).toContain('Bearer <token>')
    for (const command of others) expect(command).toContain('Bearer <key>')
    expect(firstSteps('http://127.0.0.1:4000', open, true)).not.toContain('Bearer')
  })
})
