/** The number of deployments with the same error, on the page of one of them. */
import { describe, expect, it, vi } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { expectShown, textOf } from '../../support/clients/shown.ts'
import { send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('the count of deployments with the same error', () => {
  const { server, visit } = useDashboard()

  it('is repeated at present, because the page does not follow their changes, and not in the past', async () => {
    const error = { code: 'SPIN', message: 'the drum is stuck' }
    for (const deviceId of ['drum-1', 'drum-2']) await send(server().url, deviceId, 'spin', 'failed', error)
    const { page, complaints } = await visit('setup')
    await page.clock.install()
    let counted = 0
    page.on('request', (request) => {
      if (/query CountAlike\b/.test(request.postData() ?? '')) counted += 1
    })
    await page.goto(`${server().url}/deployment/drum-1/spin`)
    await page.getByRole('link', { name: '1 other like it' }).waitFor()
    await send(server().url, 'drum-3', 'spin', 'failed', error)
    await page.clock.fastForward(10_000)
    await page.getByRole('link', { name: '2 others like it' }).waitFor()
    // The past does not change.
    const { history } = await server().query('{ history { newestTime } }')
    // The page knows the time of the server to the second.
    await vi.waitUntil(() => Date.now() > Date.parse(history.newestTime) + 2_000, { timeout: 60_000 })
    await page.goto(`${server().url}/deployment/drum-1/spin?at=${history.newestTime}`)
    await page.getByText('Showing the state at').waitFor()
    await page.getByRole('link', { name: '2 others like it' }).waitFor()
    const before = counted
    const age = page.locator('.notice.past .muted')
    for (let times = 0; times < 2; times += 1) {
      const shown = await textOf(age).take()
      await page.clock.fastForward(10_000)
      await expectShown(textOf(age)).not.toBe(shown)
    }
    expect(counted).toBe(before)
    expect(complaints).toEqual([])
  })
})
