/** `rollcall retire`: takes devices out of service that never come back, after it has said what that changes. */
import { parseArgs } from 'node:util'
import { exitCodes, parseDuration, UsageError, usageErrorOf } from '../../../server/process/arguments.ts'
import { connect, explainRefusal, filterOf, plural, refusedFields, run } from './changing.ts'
import { retireOptions, retireUsage } from './options.ts'

interface Counts {
  readonly devices: number
  readonly children: number
  readonly deployments: number
}

await run(async () => {
  const values = parse()
  if (values.help) {
    console.log(retireUsage)
    return exitCodes.reached
  }
  const { silent, reason, 'with-children': withChildren = false } = values
  const filter = filterOf(values, silent === undefined ? {} : silentFor(silent))
  if (reason === undefined) throw new UsageError('missing reason: use --reason')
  const { api, print } = await connect(values)
  const { counts } = await api.ask<{ counts: Counts }>(
    'query Retirement($filter: DeviceFilter!, $withChildren: Boolean) { counts: retirement(filter: $filter, withChildren: $withChildren) { devices children deployments } }',
    { filter, withChildren },
  )
  const { devices, children, deployments } = counts
  const behind = children === 0 ? '' : ` (${plural(children, 'more device')} behind)`
  const what = `${plural(devices, 'device')}${behind}, closing ${plural(deployments, 'deployment')}`
  if (!values.yes) {
    print(counts, `Would retire ${what}. To do it, add --yes.`)
    return exitCodes.reached
  }
  const { result } = await api.ask<{ result: { readonly results?: readonly object[]; readonly message: string } }>(
    `mutation Retire($input: RetireDevicesInput!) { result: retireDevices(input: $input) {
      ... on RetireDevicesSuccess { results { changed } } ${refusedFields} } }`,
    { input: { filter, reason, withChildren } },
  )
  if (!result.results) return explainRefusal(result)
  print(counts, `Retired ${what}.`)
  return exitCodes.reached
})

function parse() {
  try {
    return parseArgs({ args: process.argv.slice(2), options: retireOptions }).values
  } catch (error) {
    throw usageErrorOf(error, retireOptions)
  }
}

/** A device that was never heard may be a new one, or is heard through its gateway. */
function silentFor(duration: string): object {
  const [, days] = /^(\d{1,4})d$/.exec(duration) ?? []
  const before = Date.now() - (days ? Number(days) * 86_400_000 : parseDuration('--silent', duration))
  return { lastHeardAfter: new Date(0).toISOString(), lastHeardBefore: new Date(before).toISOString() }
}
