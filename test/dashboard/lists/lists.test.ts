/** What operators do with rows of a list, and lists as files. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { declare, documentOf } from '../../support/clients/desired.ts'
import {
  attributeOf,
  countOf,
  doInPage,
  drawnTextsOf,
  expectNone,
  expectShown,
  look,
  textsOf,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('a list of the dashboard', () => {
  const { server, visit } = useDashboard()

  it('offers what the caller may do with the selected rows, and names their number before it does it', async () => {
    for (const index of [1, 2, 3]) await send(server().url, `old-${index}`, `leftover-${index}`, 'installed')
    const { page, complaints } = await visit('deployments?text=leftover')
    await page.getByRole('checkbox', { name: 'Select leftover-1 on old-1' }).check()
    await page.getByRole('checkbox', { name: 'Select leftover-2 on old-2' }).check()
    await page.getByRole('button', { name: 'Forget…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Forget 2 deployments?' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Forget…' }).click()
    await dialog.getByRole('button', { name: 'Forget 2 deployments' }).click()
    await page.getByText('1 deployment', { exact: true }).waitFor()
    await expectShown(countOf(page.getByRole('row', { name: /leftover-3/ }))).toBe(1)

    await page.goto(`${server().url}/devices?text=old-3`)
    await page.getByRole('checkbox', { name: 'Select old-3' }).check()
    await page.getByRole('button', { name: 'Retire…' }).click()
    const retiring = page.getByRole('dialog', { name: 'Retire 1 device?' })
    await retiring.getByLabel('Reason').fill('sold')
    await retiring.getByRole('button', { name: 'Retire 1 device' }).click()
    await page.getByText('No devices match these filters.').waitFor()
    const { device } = await server().query('{ device(deviceId: "old-3") { retirement { reason } } }')
    expect(device.retirement.reason).toBe('sold')
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('applies actions to rows that are in the list, and to those that its question named', async () => {
    const gone: string[] = []
    for (const id of ['stuck-1', 'stuck-2']) await send(server().url, id, id, 'failed', { code: 'S', message: 'stuck' })
    const { page } = await visit('deployments?state=FAILED&code=S')
    const select = (id: string) => page.getByRole('checkbox', { name: `Select ${id}` })
    await select('stuck-1').check()
    await select('stuck-2').check()
    await page.getByText('2 selected').waitFor()
    await send(server().url, 'stuck-1', 'stuck-1', 'installed')
    await page.getByText('1 selected').waitFor()
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.route('**/graphql', (route) => {
      const { query, variables } = route.request().postDataJSON()
      if (!/mutation Forget\b/.test(query)) return route.fallback()
      gone.push(...variables.input.ids)
      return route.fulfill({ json: { data: { forgetDeployments: { __typename: 'ForgetDeploymentsSuccess' } } } })
    })
    await send(server().url, 'stuck-2', 'stuck-2', 'installed')
    await page.getByText('No deployments match these filters.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Forget 1 deployment' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { deployments } = await server().query(
      '{ deployments(filter: { deploymentIds: ["stuck-2"] }) { nodes { id } } }',
    )
    expect(gone).toEqual(deployments.nodes.map(({ id }: { id: string }) => id))

    // Nothing is selected that another filter or page does not show.
    await page.goto(`${server().url}/devices`)
    await select('stuck-1').check()
    await page.getByText('1 selected').waitFor()
    await page.getByRole('button', { name: 'Failing' }).click()
    await select('stuck-1').waitFor({ state: 'detached' })
    await select('edge-2').check()
    await page.getByText('1 selected').waitFor()
    await page.getByRole('button', { name: 'Retired' }).click()
    await page.getByText('1 selected').waitFor({ state: 'detached' })
  })

  it.runIf(isWhole)('has no column and no filter for devices on the page of one device', async () => {
    await send(server().url, 'only-1', 'single', 'installed')
    const { page, complaints } = await visit('device/only-1')
    const table = page.getByRole('table', { name: 'Deployments of this device' })
    await table.getByRole('row', { name: /single/ }).waitFor()
    await expectShown(textsOf(table.getByRole('columnheader'))).toEqual([
      'Deployment',
      'State',
      'Manifest version',
      'Components',
      'Changed',
    ])
    await expectNone(
      page.getByRole('button', { name: 'On retired devices' }),
      table.getByRole('row', { name: /single/ }),
    )
    await page.goto(`${server().url}/deployments?text=single`)
    await page.getByRole('columnheader', { name: 'Where' }).waitFor()
    await page.getByRole('button', { name: 'On retired devices' }).waitFor()
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('shows its rows where the server refuses to count them', async () => {
    await send(server().url, 'many-1', 'many', 'installed')
    const { page } = await visit('')
    // A fleet above 60,000 deployments: the limit itself is tested where the statements are.
    await page.route('**/graphql', async (route) => {
      const { query, variables } = route.request().postDataJSON() as { query?: string; variables?: object } & object
      if (!/counts: deploymentCounts/.test(query ?? '') || !(variables && 'isFirst' in variables && variables.isFirst))
        return route.fallback()
      const errors = [{ message: 'too many rows', extensions: { code: 'BAD_USER_INPUT' } }]
      await route.fulfill({ json: { data: null, errors } })
    })
    await page.goto(`${server().url}/deployments?text=many`)
    await page.getByText('Too many to count').waitFor()
    await page.getByRole('row', { name: /many-1/ }).waitFor()
    await page.unroute('**/graphql')
  })

  it.runIf(isWhole)('puts back what was removed and what was retired', async () => {
    const document = documentOf('putback', '1')
    await declare(server(), [{ deviceId: 'put-1', deploymentId: 'putback', document }])
    const { page, complaints } = await visit('deployments?text=putback')
    const desired = async () =>
      (await server().query('{ deployment(deploymentId: "putback") { desired { digest reason } } }')).deployment.desired
    const { digest } = await desired()
    const act = async (word: string, reason?: string): Promise<void> => {
      await page.getByRole('checkbox', { name: 'Select putback on put-1', exact: true }).check()
      await page.getByRole('button', { name: `${word}…` }).click()
      const dialog = page.getByRole('dialog', { name: `${word} 1 deployment?` })
      if (reason) await dialog.getByLabel('Reason').fill(reason)
      await dialog.getByRole('button', { name: `${word} 1 deployment` }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await act('Remove')
    expect(await desired()).toBeNull()
    await act('Redeclare', 'removed by mistake')
    expect(await desired()).toEqual({ digest, reason: 'removed by mistake' })
    // Without a document, it is declared all the same.
    await send(server().url, 'put-2', 'plain-putback', 'installed')
    for (const name of ['putback on put-1', 'plain-putback on put-2'])
      await page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).check()
    await page.getByRole('button', { name: 'Redeclare…' }).click()
    await page.getByRole('button', { name: 'Redeclare 2 deployments' }).click()
    await page.getByText('2 selected').waitFor({ state: 'detached' })

    await server().query(
      'mutation { retireDevices(input: { reason: "sold", devices: [{ deviceId: "put-1" }] }) { __typename } }',
    )
    await page.goto(`${server().url}/devices?retired=true&text=put-1`)
    await page.getByRole('checkbox', { name: 'Select put-1' }).check()
    await page.getByRole('button', { name: 'Reinstate…' }).click()
    await page.getByRole('button', { name: 'Reinstate 1 device' }).click()
    await page.getByText('No devices match these filters.').waitFor()
    expect((await server().query('{ device(deviceId: "put-1") { retirement { at } } }')).device.retirement).toBeNull()
    expect(complaints).toEqual([])
  })

  it('of deployments has rows that leave, return and enter, also many at once', async () => {
    const { url } = server()
    const error = { code: 'FLAP', message: 'no' }
    for (const index of [1, 2]) await send(url, `flap-${index}`, `flapping-${index}`, 'failed', error)
    const { page, complaints } = await visit('deployments?code=FLAP')
    const names = drawnTextsOf(page.locator('.rows .row .main a'))
    await expectShown(names).toEqual(['flapping-2', 'flapping-1'])
    await send(url, 'flap-2', 'flapping-2', 'installed')
    await expectShown(names).toEqual(['flapping-1'])
    await send(url, 'flap-2', 'flapping-2', 'failed', error)
    await expectShown(names).toEqual(['flapping-2', 'flapping-1'])
    await send(url, 'flap-3', 'flapping-3', 'failed', error)
    await expectShown(names).toEqual(['flapping-3', 'flapping-2', 'flapping-1'])
    // A row that entered is live too. It keeps its place until the list is sorted again.
    await send(url, 'flap-1', 'flapping-1', 'failed', { code: 'FLAP', message: 'a new reason' })
    await page
      .getByRole('row', { name: /flapping-1/ })
      .getByText('a new reason')
      .waitFor()
    await send(url, 'flap-3', 'flapping-3', 'installed')
    await expectShown(names).toEqual(['flapping-2', 'flapping-1'])
    await page.getByRole('button', { name: '1 row changed. Sort again' }).click()
    await expectShown(names).toEqual(['flapping-1', 'flapping-2'])
    const reports = Array.from({ length: 130 }, (_, index) => ({
      deviceId: `burst-${index}`,
      deploymentId: `burst-${index}`,
      status: { state: 'failed', error },
      components: [],
    }))
    expect((await server().post('/reports', { reports })).ok).toBe(true)
    await page.getByText('132 deployments', { exact: true }).waitFor()
    await expectShown(attributeOf(page.getByRole('table'), 'aria-rowcount')).toBe('133')
    const lastShown = async () => {
      await doInPage(page, () => scrollTo(0, document.documentElement.scrollHeight))
      return (await names.take()).at(-1)
    }
    await expectShown(look(page, lastShown)).toBe('flapping-2')
    await expectShown(attributeOf(page.locator('.rows > .row').last(), 'aria-rowindex')).toBe('133')
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('of devices is ordered and filtered by the server', async () => {
    await server().query(`mutation { registerDevices(input: { devices: [
      { deviceId: "sort-a", labels: [{ key: "site", value: "bonn" }] }
      { deviceId: "sort-b", labels: [{ key: "site", value: "bonn" }] }
      { deviceId: "sort-c", labels: [{ key: "site", value: "kiel" }] }
    ] }) { __typename } }`)
    await send(server().url, 'sort-c', 'sorting', 'installed')
    await send(server().url, 'sort-a', 'sorting', 'failed', { code: 'E', message: 'no' })
    const { page, complaints } = await visit('devices?text=sort-')
    const names = drawnTextsOf(page.locator('.row .main a'))
    await expectShown(names).toEqual(['sort-a', 'sort-b', 'sort-c'])
    await page.getByLabel('Order').selectOption('Last heard')
    await expectShown(names).toEqual(['sort-a', 'sort-c', 'sort-b'])
    await page.getByLabel('Order').selectOption('Longest silent')
    await expectShown(names).toEqual(['sort-b', 'sort-c', 'sort-a'])
    await page.getByLabel('Label: site=munich').fill('site=bonn')
    await expectShown(names).toEqual(['sort-b', 'sort-a'])
    await page.getByRole('button', { name: 'Failing' }).click()
    await expectShown(names).toEqual(['sort-a'])
    await page.getByRole('combobox', { name: 'Heard' }).selectOption('Over an hour ago')
    await page.getByText('No devices match these filters.').waitFor()
    await page.getByRole('button', { name: 'Failing' }).click()
    await expectShown(names).toEqual(['sort-b'])
    // The address has all of it.
    await page.reload()
    await expectShown(names).toEqual(['sort-b'])
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('says what the server refuses', async () => {
    await send(server().url, 'kept-1', 'undeclared', 'installed')
    const { page } = await visit('deployments?text=undeclared')
    await page.getByRole('checkbox', { name: 'Select undeclared on kept-1' }).check()
    await page.route('**/graphql', (route) =>
      route.fulfill({ json: { data: { removeDeployments: { __typename: 'Forbidden', message: 'not yours' } } } }),
    )
    await page.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('button', { name: 'Remove 1 deployment' }).click()
    await page.getByRole('alert').getByText('not yours').waitFor()
  })

  it('is a file with all of its pages', async () => {
    const reports = Array.from({ length: 70 }, (_, index) => ({
      deviceId: `file-${index}`,
      deploymentId: `filed-${index}`,
      status: { state: 'failed', error: { code: 'E', message: index === 0 ? '=HYPERLINK("x", "y")' : 'no' } },
      components: [],
    }))
    expect((await server().post('/reports', { reports })).ok).toBe(true)
    const { page } = await visit('deployments?text=filed&order=NAME')
    await page.getByText('70 deployments').waitFor()
    const csv = (await save(page, 'CSV')).split('\r\n')
    expect(csv).toHaveLength(71)
    expect(csv[1]).toMatch(/^"filed-0","file-0","file-0","filed-0","","","FAILED"/)
    expect(csv[1]).toContain(`"'=HYPERLINK(""x"", ""y"")"`)
    const rows = JSON.parse(await save(page, 'JSON'))
    expect(rows).toHaveLength(70)
    expect(rows[0]).toMatchObject({ deploymentId: 'filed-0', state: 'FAILED', application: null, attempt: 1 })
    await page.getByLabel('Order').selectOption('Name, Z to A')
    await page.getByRole('row').nth(1).getByText('filed-9').first().waitFor()
    const descending = JSON.parse(await save(page, 'JSON'))
    const idsOf = (list: readonly { readonly deploymentId: string }[]) => list.map(({ deploymentId }) => deploymentId)
    expect(idsOf(descending)).toEqual(idsOf(rows).toReversed())
    await page.goto(`${server().url}/devices?text=file-`)
    await page.getByText('70 devices').waitFor()
    expect((await save(page, 'CSV')).split('\r\n')).toHaveLength(71)

    await page.goto(`${server().url}/feed?kind=deployment&state=FAILED`)
    const changes = JSON.parse(await save(page, 'JSON'))
    const { changes: log } = await server().query(
      '{ changes(filter: { kinds: [DEPLOYMENT_STATE_CHANGED], to: [FAILED] }, first: 0) { totalCount } }',
    )
    expect(log.totalCount).toBeGreaterThan(70)
    expect(changes).toHaveLength(log.totalCount)
    const filed = changes.filter((change: { readonly target: string }) => change.target.startsWith('file-'))
    expect(filed).toHaveLength(70)
    expect(filed[0]).toMatchObject({ kind: 'DeploymentStateChanged', to: 'FAILED', errorCode: 'E', reason: 'no' })
    expect(changes.map(({ revision }: { readonly revision: string }) => Number(revision))).toEqual(
      changes
        .map(({ revision }: { readonly revision: string }) => Number(revision))
        .toSorted((a: number, b: number) => b - a),
    )
  })
})

async function save(page: Page, format: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('group', { name: 'Save this list' }).getByRole('button', { name: format }).click(),
  ])
  return readFileSync(await download.path(), 'utf8')
}
