/** A server that accepts keys only, and has none, says in its log how to get the first one. */
import { expect, it, onTestFinished } from 'vitest'
import { startApp } from '../../support/servers/app.ts'

it.each([
  { env: { API_AUTH: 'key' }, isWarned: true },
  { env: { API_AUTH: 'key', API_ADMIN_KEY: 'an-admin-key-for-tests-only' }, isWarned: false },
  { env: { API_AUTH: 'open,key' }, isWarned: false },
])('with $env', async ({ env, isWarned }) => {
  const server = await startApp({ env })
  onTestFinished(() => server.stop())
  const warnings = server.logged.filter(({ msg }) => String(msg).includes('set API_ADMIN_KEY'))
  expect(warnings).toHaveLength(isWarned ? 1 : 0)
})
