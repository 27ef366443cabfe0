/** What operators do with one registered device or reporter. */
import { resetReporterOrder, revokeDevice, rotateToken } from '../ingest/commands/device.ts'
import { newDeviceToken } from '../ingest/device-token.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { checkInput } from './input-check.ts'
import type { TargetNode } from './loaders.ts'
import { required } from './required.ts'
import { Device } from './target.ts'
import { attempt, Forbidden, type InputProblem, InvalidInput, NotFound } from './user-error.ts'

const refusals = ['InvalidInput', 'NotFound', 'Forbidden'] as const
const defaultOverlap = 3_600
const maxOverlap = 30 * 86_400

const RotateDeviceTokenInput = builder.inputType('RotateDeviceTokenInput', {
  description: 'What rotateDeviceToken takes.',
  fields: (t) => ({
    deviceId: t.string({ required: true, description: 'The device.' }),
    overlap: t.int({
      defaultValue: defaultOverlap,
      description: 'Seconds that the old tokens stay good for: 0 to 2592000 (30 days).',
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
      token: t.exposeString('token', { description: 'The new token. It is not stored, and cannot be shown again.' }),
    }),
  })

const RotateDeviceTokenResult = builder.unionType('RotateDeviceTokenResult', {
  description: 'What became of rotateDeviceToken.',
  types: [RotateDeviceTokenSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const RevokeDeviceInput = builder.inputType('RevokeDeviceInput', {
  description: 'What revokeDevice takes.',
  fields: (t) => ({ deviceId: t.string({ required: true, description: 'The device.' }) }),
})

const RevokeDeviceSuccess = builder
  .objectRef<{ readonly type: 'RevokeDeviceSuccess'; readonly device: TargetNode }>('RevokeDeviceSuccess')
  .implement({
    access: 'operator',
    description: 'Its reports are refused from now on.',
    fields: (t) => ({ device: t.expose('device', { type: Device, description: 'The device.' }) }),
  })

const RevokeDeviceResult = builder.unionType('RevokeDeviceResult', {
  description: 'What became of revokeDevice.',
  types: [RevokeDeviceSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

const ResetReporterOrderInput = builder.inputType('ResetReporterOrderInput', {
  description: 'What resetReporterOrder takes.',
  fields: (t) => ({ reporter: t.string({ required: true, description: 'The device or client that reports.' }) }),
})

interface ResetRow {
  readonly type: 'ResetReporterOrderSuccess'
  readonly device: TargetNode
  readonly deployments: number
}

const ResetReporterOrderSuccess = builder.objectRef<ResetRow>('ResetReporterOrderSuccess').implement({
  access: 'operator',
  description: 'Whatever the reporter says next is the newest.',
  fields: (t) => ({
    device: t.expose('device', { type: Device, description: 'The reporter.' }),
    deployments: t.exposeInt('deployments', { description: 'How many deployments it reports.' }),
  }),
})

const ResetReporterOrderResult = builder.unionType('ResetReporterOrderResult', {
  description: 'What became of resetReporterOrder.',
  types: [ResetReporterOrderSuccess, InvalidInput, NotFound, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationFields((t) => ({
  rotateDeviceToken: t.field({
    access: 'operator of all',
    type: RotateDeviceTokenResult,
    description: 'Gives a device a new token; the old ones stay good for a while.',
    args: { input: t.arg({ type: RotateDeviceTokenInput, required: true, description: 'Which device.' }) },
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
    description: 'Refuses its credentials, of whatever kind, and whatever it reports, until it is registered anew.',
    args: { input: t.arg({ type: RevokeDeviceInput, required: true, description: 'Which device.' }) },
    resolve: (_, { input }, context) =>
      attempt(refusals, nameProblems('deviceId', input.deviceId), async () => {
        const { key } = await context.write(revokeDevice(input.deviceId))
        return { type: 'RevokeDeviceSuccess' as const, device: await deviceNow(context, key) }
      }),
  }),
  resetReporterOrder: t.field({
    access: 'operator of all',
    type: ResetReporterOrderResult,
    description: "Clears a reporter's ordering marks: for one whose clock or counter went wrong.",
    args: { input: t.arg({ type: ResetReporterOrderInput, required: true, description: 'Which reporter.' }) },
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
