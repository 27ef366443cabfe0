/** Operations on one registered device or reporter. */
import { resetReporterOrder, revokeDevice, rotateToken } from '../../ingest/commands/device.ts'
import { newDeviceToken } from '../../ingest/device-token.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import type { TargetNode } from '../execution/loaders.ts'
import { required } from '../execution/required.ts'
import { Device } from '../objects/refs.ts'
import { checkInput } from './input-check.ts'
import { attempt, Forbidden, type InputProblem, InvalidInput, NotFound } from './user-error.ts'

const refusals = ['InvalidInput', 'NotFound', 'Forbidden'] as const
const defaultOverlap = 3_600
const maxOverlap = 30 * 86_400

const RotateDeviceTokenInput = builder.inputType('RotateDeviceTokenInput', {
  description: 'Input of `rotateDeviceToken`.',
  fields: (t) => ({
    deviceId: t.string({ required: true, description: 'The device ID.' }),
    overlap: t.int({
      defaultValue: defaultOverlap,
      description: 'Seconds for which the old tokens stay valid: 0 to 2592000 (30 days).',
    }),
  }),
})

const RotateDeviceTokenSuccess = builder
  .objectRef<{ readonly type: 'RotateDeviceTokenSuccess'; readonly device: TargetNode; readonly token: string }>(
    'RotateDeviceTokenSuccess',
  )
  .implement({
    access: 'operator',
    description: 'The device has a new token.',
    fields: (t) => ({
      device: t.expose('device', { type: Device, description: 'The device.' }),
      token: t.exposeString('token', { description: 'The new token. It is shown only once.' }),
    }),
  })

const RotateDeviceTokenResult = builder.unionType('RotateDeviceTokenResult', {
  description: 'Result of `rotateDeviceToken`.',
  types: [RotateDeviceTokenSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const RevokeDeviceInput = builder.inputType('RevokeDeviceInput', {
  description: 'Input of `revokeDevice`.',
  fields: (t) => ({ deviceId: t.string({ required: true, description: 'The device ID.' }) }),
})

const RevokeDeviceSuccess = builder
  .objectRef<{ readonly type: 'RevokeDeviceSuccess'; readonly device: TargetNode }>('RevokeDeviceSuccess')
  .implement({
    access: 'operator',
    description: 'The device was revoked. Its reports are refused.',
    fields: (t) => ({ device: t.expose('device', { type: Device, description: 'The device.' }) }),
  })

const RevokeDeviceResult = builder.unionType('RevokeDeviceResult', {
  description: 'Result of `revokeDevice`.',
  types: [RevokeDeviceSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const ResetReporterOrderInput = builder.inputType('ResetReporterOrderInput', {
  description: 'Input of `resetReporterOrder`.',
  fields: (t) => ({
    reporter: t.string({ required: true, description: 'The ID of the device or client that reports.' }),
  }),
})

interface ResetRow {
  readonly type: 'ResetReporterOrderSuccess'
  readonly device: TargetNode
  readonly deployments: number
}

const ResetReporterOrderSuccess = builder.objectRef<ResetRow>('ResetReporterOrderSuccess').implement({
  access: 'operator',
  description: 'The order was reset. The next report counts as the newest.',
  fields: (t) => ({
    device: t.expose('device', { type: Device, description: 'The reporter.' }),
    deployments: t.exposeInt('deployments', { description: 'Number of deployments that it reports.' }),
  }),
})

const ResetReporterOrderResult = builder.unionType('ResetReporterOrderResult', {
  description: 'Result of `resetReporterOrder`.',
  types: [ResetReporterOrderSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationFields((t) => ({
  rotateDeviceToken: t.field({
    access: 'operator of all',
    type: RotateDeviceTokenResult,
    description: 'Creates a new token for a device. The old tokens stay valid for `overlap` seconds.',
    args: { input: t.arg({ type: RotateDeviceTokenInput, required: true, description: 'The device.' }) },
    resolve: (_, { input }, context) => {
      const overlap = input.overlap ?? defaultOverlap
      const problems = [...nameProblems('deviceId', input.deviceId)]
      if (overlap < 0 || overlap > maxOverlap)
        problems.push({ path: ['overlap'], message: `must be from 0 to ${maxOverlap} seconds` })
      return attempt(refusals, problems, async () => {
        const token = newDeviceToken()
        const { key } = await context.write(rotateToken(input.deviceId, token.hash, overlap))
        return { type: 'RotateDeviceTokenSuccess' as const, device: await deviceNow(context, key), token: token.text }
      })
    },
  }),
  revokeDevice: t.field({
    access: 'operator of all',
    type: RevokeDeviceResult,
    description: 'Refuses all credentials and reports of a device until it is registered again.',
    args: { input: t.arg({ type: RevokeDeviceInput, required: true, description: 'The device.' }) },
    resolve: (_, { input }, context) =>
      attempt(refusals, nameProblems('deviceId', input.deviceId), async () => {
        const { key } = await context.write(revokeDevice(input.deviceId))
        return { type: 'RevokeDeviceSuccess' as const, device: await deviceNow(context, key) }
      }),
  }),
  resetReporterOrder: t.field({
    access: 'operator of all',
    type: ResetReporterOrderResult,
    description: "Clears the order of a reporter's reports. Use it after the reporter's clock or counter was wrong.",
    args: { input: t.arg({ type: ResetReporterOrderInput, required: true, description: 'The reporter.' }) },
    resolve: (_, { input }, context) =>
      attempt(refusals, nameProblems('reporter', input.reporter), async () => {
        const { key, deployments } = await context.write(resetReporterOrder(input.reporter))
        return { type: 'ResetReporterOrderSuccess' as const, device: await deviceNow(context, key), deployments }
      }),
  }),
}))

function nameProblems(field: string, value: string): readonly InputProblem[] {
  const check = checkInput()
  check.name([field], value)
  return check.problems
}

async function deviceNow(context: Context, key: number): Promise<TargetNode> {
  return required(await (await context.reader()).target(key, null), 'device')
}
