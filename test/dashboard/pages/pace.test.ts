/** The pace of a rollout: its number and the time that it is about belong together. */
import { beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { expectShown, textOf } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { holdAnswers, minute, send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('the pace of a rollout', () => {
  const { server, visit } = useDashboard()
  let rollout = ''

  beforeAll(async () => {
    const deployments = ['oven-1', 'oven-2', 'oven-3'].map((deviceId) => ({ deviceId, deploymentId: 'bread' }))
    const { declareDeployments } = await server().query(
      `mutation ($deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: "bakery" }, deployments: $deployments }) {
          ... on DeclareDeploymentsSuccess { rollout { id } } } }`,
      { deployments },
    )
    rollout = declareDeployments.rollout.id
  })

  it('is that since the rollout began, until now, and until the last change while the next answer is under way', async () => {
    const { page, complaints } = await visit('setup')
    await page.clock.install()
    await page.goto(`${server().url}/rollout/${rollout}`)
    const pace = page.getByRole('region', { name: 'Forecast' }).locator('dd').last()
    await pace.getByText(/^more installed or failed than \d+ s ago$/).waitFor()
    await page.clock.fastForward(2 * minute)
    await expectShown(textOf(pace)).toBe('0 more installed or failed than 2 min ago')

    const release = await holdAnswers(page, /query Insight\b/)
    const asked = page.waitForRequest((request) => /query Insight\b/.test(request.postData() ?? ''))
    await send(server().url, 'oven-1', 'bread', 'installed')
    await page.getByRole('heading', { name: 'Progress' }).waitFor()
    await page.clock.fastForward(1_000)
    await asked
    await page.clock.fastForward(3 * minute)
    await page.getByText('1 of 3 deployments installed').waitFor()
    await expectShown(textOf(pace)).toBe('0 more installed or failed than 2 min ago')
    await release()
    await expectShown(textOf(pace)).toBe('1 more installed or failed than 5 min ago')
    // Nothing has changed since then, so the same number is that of a longer time.
    await page.clock.fastForward(5 * minute)
    await expectShown(textOf(pace)).toBe('1 more installed or failed than 10 min ago')
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('is that of ten minutes before a past time, or since the rollout began', async () => {
    const { rollout: found } = await server().query(`query ($id: ID!) { rollout(id: $id) { createdAt } }`, {
      id: rollout,
    })
    const at = new Date(Date.parse(found.createdAt) + 1_000)
    await expect.poll(() => Date.now()).toBeGreaterThan(at.getTime())
    const { page } = await visit(`rollout/${rollout}?at=${at.toISOString()}`)
    const pace = page.getByRole('region', { name: 'Forecast' }).locator('dd').last()
    await expectShown(textOf(pace)).toMatch(/ more installed or failed than 1 s ago$/)
  })
})
