import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { blocksOf, execute, hasCurl, readPage } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

// Without curl there is nothing that could execute them; where PostgreSQL is required curl is installed too.
describe.skipIf(!hasCurl).each([['docs/orchestrators.md'], ['docs/notifications.md']])('%s', (page) => {
  it('answers what it says', async () => {
    await execute(blocksOf(readPage(page)), { url: server.url })
  })
})

describe('docs/notifications.md', () => {
  it('has a file of rules that a server takes, and mutations that it executes', async () => {
    const blocks = blocksOf(readPage('docs/notifications.md'))
    const rules = blocks.find(({ language }) => language === 'yaml')?.text ?? ''
    const file = join(temporaryFolder(), 'rules.yaml')
    writeFileSync(file, rules)
    const given = await startApp({ env: { ALERT_RULES: file, AAI_URL: 'https://aai.example' } })
    onTestFinished(() => given.stop())
    const { alertRules } = await given.query('{ alertRules { name } }')
    const names = [...rules.matchAll(/- name: (.*)$/gm)].map(([, name]) => name)
    expect(names.length).toBeGreaterThan(3)
    expect(alertRules.map(({ name }: { name: string }) => name).toSorted()).toEqual(names.toSorted())
    await given.query(blocks.find(({ text }) => text.includes('createAlertmanager'))?.text ?? '')
    const { sinks } = await given.query('{ sinks { name lag lastError } }')
    expect(sinks).toMatchObject([{ name: 'main' }])
  })
})
