/** `rollcall reinstate`: puts retired devices back in service. */
import { parseArgs } from 'node:util'
import { exitCodes, usageErrorOf } from '../../../server/process/arguments.ts'
import { connect, explainRefusal, filterOf, plural, refusedFields, run } from './changing.ts'
import { reinstateOptions, reinstateUsage } from './options.ts'

interface Reinstated {
  readonly results?: readonly { readonly token: string | null; readonly device: { readonly deviceId: string } }[]
  readonly message: string
}

await run(async () => {
  const values = parse()
  if (values.help) {
    console.log(reinstateUsage)
    return exitCodes.reached
  }
  const filter = filterOf(values)
  const withChildren = values['with-children'] === true
  const { api, print } = await connect(values)
  if (!values.yes) {
    const { found } = await api.ask<{ found: { readonly totalCount: number } }>(
      'query Retired($filter: DeviceFilter!) { found: devices(filter: $filter, first: 1) { totalCount } }',
      { filter: { ...filter, retired: true } },
    )
    const behind = withChildren ? ', and the retired devices behind' : ''
    print(
      { devices: found.totalCount },
      `Would reinstate ${plural(found.totalCount, 'device')}${behind}. To do it, add --yes.`,
    )
    return exitCodes.reached
  }
  const { result } = await api.ask<{ result: Reinstated }>(
    `mutation Reinstate($input: ReinstateDevicesInput!) { result: reinstateDevices(input: $input) {
      ... on ReinstateDevicesSuccess { results { token device { deviceId } } } ${refusedFields} } }`,
    { input: { filter, withChildren } },
  )
  if (!result.results) return explainRefusal(result)
  const devices = result.results.map(({ token, device }) => ({ deviceId: device.deviceId, token }))
  // The tokens are shown only once.
  const lines = devices.map(({ deviceId, token }) => `${deviceId}  ${token ?? '-'}`)
  print({ devices }, [`Reinstated ${plural(devices.length, 'device')}. Their new tokens:`, ...lines].join('\n'))
  return exitCodes.reached
})

function parse() {
  try {
    return parseArgs({ args: process.argv.slice(2), options: reinstateOptions }).values
  } catch (error) {
    throw usageErrorOf(error, reinstateOptions)
  }
}
