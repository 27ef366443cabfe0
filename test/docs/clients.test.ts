/** The programs of docs/clients.md, run as they stand there, lose their connection in the middle of what they watch. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RunningApp, startApp } from '../support/app.ts'
import { standBetween } from '../support/between.ts'
import { startNode } from '../support/child.ts'
import { blocksOf, readPage } from '../support/documentation.ts'

const programs = blocksOf(readPage('docs/clients.md'))
  .filter(({ language }) => language === 'ts')
  .map(({ text }) => ({ library: /from '(@[^']+)'/.exec(text)?.[1] ?? '?', text }))

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

describe('docs/clients.md', () => {
  it('has a program for each of the two libraries', () => {
    expect(programs.map(({ library }) => library)).toEqual(['@urql/core', '@apollo/client'])
  })

  it.each(programs)('$library is told every change once, also across a lost connection', async ({ library, text }) => {
    const between = await standBetween(server.url)
    onTestFinished(() => between.close())
    const deploymentId = library.replace(/\W/g, '')
    const report = async (state: string): Promise<void> => {
      const answer = await server.post(`/device/edge-1/deployment/${deploymentId}/status`, {
        deploymentId,
        status: { state },
        components: [],
      })
      expect(answer.status).toBe(201)
    }
    const watching = async (): Promise<number> =>
      Number(/rollcall_subscribers\{kind="changes"\} (\d+)/.exec(await server.app.metrics.print())?.[1])

    expect(text).toContain('http://127.0.0.1:4000')
    const program = text.replaceAll('http://127.0.0.1:4000', between.url)
    const child = startNode(['--input-type=module-typescript', '-e', program])
    await expect.poll(watching).toBe(1)
    await report('pending')
    await child.said(/ PENDING$/)
    between.shut()
    await expect.poll(watching).toBe(0)
    await report('installing')
    await report('failed')
    between.open()
    await child.said(/ FAILED$/)
    await report('installed')
    await child.said(/ INSTALLED$/)
    const states = ['PENDING', 'INSTALLING', 'FAILED', 'INSTALLED']
    expect(child.lines).toEqual(states.map((state) => `${deploymentId} ${state}`))
    child.process.kill()
    await child.ended
    await expect.poll(watching).toBe(0)
  })
})
