/** Alerts on the dashboard: on the overview and on their rollout, until they are resolved. */
import { describe, expect, it } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { findChromium } from '../../support/clients/browser.ts'
import { attributeOf, countOf, expectGone, expectNone, expectShown, urlOf } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { holdAnswers, send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('alerts on the dashboard', () => {
  const { server, visit } = useDashboard({ timeouts: { ...defaultTimeouts, duties: 200 } })

  it('show what fires, take an acknowledgement, and end when they are resolved', async () => {
    const { declareDeployments, saveAlertRule } = await server().query(
      `mutation {
        declareDeployments(input: { rollout: { name: "ovens" }, deployments: [{ deviceId: "oven-1", deploymentId: "vision" }] }) {
          ... on DeclareDeploymentsSuccess { rollout { id } }
        }
        saveAlertRule(input: {
          name: "ovens fail", metric: FAILED, threshold: 1, perRollout: true, severity: CRITICAL, selector: { deviceIds: ["oven-1"] }
          runbookUrl: "https://runbooks.example/ovens"
        }) { ... on SaveAlertRuleSuccess { rule { name } } }
      }`,
    )
    expect(saveAlertRule.rule).toEqual({ name: 'ovens fail' })
    await send(server().url, 'oven-1', 'vision', 'failed', { code: 'PULL', message: 'not found' })

    const { page, complaints } = await visit('')
    const alerts = page.getByRole('region', { name: '1 alert' })
    const alert = alerts.getByRole('listitem')
    await alert.getByText('Critical: ovens fail').waitFor()
    await page.getByRole('link', { name: /^Overview\s*1 alert$/ }).waitFor()
    await alert.getByText('Failed: 1 (threshold 1) in ovens, when raised').waitFor()
    await expectShown(attributeOf(alert.getByRole('link', { name: 'runbook' }), 'href')).toBe(
      'https://runbooks.example/ovens',
    )

    await alert.getByRole('button', { name: 'Acknowledge…' }).click()
    await page.getByLabel('Reason').fill('I replace the registry')
    await page.getByRole('button', { name: 'Acknowledge ovens fail' }).click()
    await expectNone(alert.getByRole('button'), alert.getByText('I replace the registry'))

    await alert.getByRole('link', { name: 'ovens' }).click()
    await page.getByRole('heading', { name: /^ovens/ }).waitFor()
    await expectShown(urlOf(page)).toContain(declareDeployments.rollout.id)
    await alert.getByText('Critical: ovens fail').waitFor()
    await send(server().url, 'oven-1', 'vision', 'installed')
    await alerts.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Overview', exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('are all listed when more than ten fire', async () => {
    for (let n = 0; n < 12; n += 1)
      await send(server().url, 'fan-1', `fan-${n}`, 'failed', { code: 'F', message: 'stuck' })
    await server().query(`mutation {
      saveAlertRule(input: { name: "fans fail", metric: FAILED, threshold: 1, perRollout: true, selector: { deviceIds: ["fan-1"] } }) {
        __typename
      }
    }`)
    const { page, complaints } = await visit('')
    const alerts = page.getByRole('region', { name: '12 alerts' })
    await alerts.getByRole('button', { name: 'Show more (2 not shown)' }).click()
    await expectShown(countOf(alerts.getByText('Warning: fans fail'))).toBe(12)
    await expectGone(alerts.getByRole('button', { name: /^Show more/ }))
    // The number above the list counts what it has, also while the page has already the next number.
    const lines = page.locator('section[aria-labelledby=alerts] li')
    const release = await holdAnswers(page, /query MoreAlerts\b/)
    await send(server().url, 'fan-1', 'fan-12', 'failed', { code: 'F', message: 'stuck' })
    await page.getByRole('link', { name: /^Overview\s*13 alerts$/ }).waitFor()
    await page.getByRole('listitem').filter({ hasText: '13 deployments' }).waitFor()
    await expectShown(countOf(alerts)).toBe(1)
    await expectShown(countOf(lines)).toBe(12)
    await release()
    await page.getByRole('region', { name: '13 alerts' }).waitFor()
    await expectShown(countOf(lines)).toBe(13)
    expect(complaints).toEqual([])
  })
})
