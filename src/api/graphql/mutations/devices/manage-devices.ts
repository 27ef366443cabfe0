/** Operations on one registered device or reporter. */
import { resetReporterOrder } from '../../../../ingest/commands/devices/reset-reporter-order.ts'
import { revokeDevice } from '../../../../ingest/commands/devices/revoke.ts'
import { rotateToken } from '../../../../ingest/commands/devices/rotate-token.ts'
import { newDeviceToken } from '../../../../ingest/device-token.ts'
import type { Context } from '../../execution/context.ts'
import type { TargetNode } from '../../execution/loaders/targets.ts'
import { required } from '../../execution/required.ts'
import { Device } from '../../objects/refs.ts'
import { addMutation } from '../mutation.ts'

const defaultOverlap = 3_600
const maxOverlap = 30 * 86_400

addMutation('rotateDeviceToken', {
  access: 'operator of all',
  description: 'Creates a new token for a device. The old tokens stay valid for `overlap` seconds.',
  input: {
    description: 'The device.',
    fields: (t) => ({
      deviceId: t.string({ required: true, description: 'The device ID.' }),
      overlap: t.int({
        defaultValue: defaultOverlap,
        description: 'Seconds for which the old tokens stay valid: 0 to 2592000 (30 days).',
      }),
    }),
  },
  errors: ['NotFound'],
  check: ({ deviceId, overlap }, check) => {
    check.name(['deviceId'], deviceId)
    const seconds = overlap ?? defaultOverlap
    if (seconds < 0 || seconds > maxOverlap) check.add(['overlap'], `must be from 0 to ${maxOverlap} seconds`)
    return seconds
  },
  act: async ({ deviceId }, context, overlap) => {
    const token = newDeviceToken()
    const { key } = await context.write(rotateToken(deviceId, token.hash, overlap))
    return { device: await deviceNow(context, key), token: token.text }
  },
  success: {
    access: 'operator',
    description: 'The device has a new token.',
    fields: (t) => ({
      device: t.expose('device', { type: Device, description: 'The device.' }),
      token: t.exposeString('token', { description: 'The new token. It is shown only once.' }),
    }),
  },
})

addMutation('revokeDevice', {
  access: 'operator of all',
  description: 'Refuses all credentials and reports of a device until it is registered again.',
  input: {
    description: 'The device.',
    fields: (t) => ({ deviceId: t.string({ required: true, description: 'The device ID.' }) }),
  },
  errors: ['NotFound'],
  check: ({ deviceId }, check) => check.name(['deviceId'], deviceId),
  act: async ({ deviceId }, context) => {
    const { key } = await context.write(revokeDevice(deviceId))
    return { device: await deviceNow(context, key) }
  },
  success: {
    access: 'operator',
    description: 'The device was revoked. Its reports are refused.',
    fields: (t) => ({ device: t.expose('device', { type: Device, description: 'The device.' }) }),
  },
})

addMutation('resetReporterOrder', {
  access: 'operator of all',
  description: "Clears the order of a reporter's reports. Use it after the reporter's clock or counter was wrong.",
  input: {
    description: 'The reporter.',
    fields: (t) => ({
      reporter: t.string({ required: true, description: 'The ID of the device or client that reports.' }),
    }),
  },
  errors: ['NotFound'],
  check: ({ reporter }, check) => check.name(['reporter'], reporter),
  act: async ({ reporter }, context) => {
    const { key, deployments } = await context.write(resetReporterOrder(reporter))
    return { device: await deviceNow(context, key), deployments }
  },
  success: {
    access: 'operator',
    description: 'The order was reset. The next report counts as the newest.',
    fields: (t) => ({
      device: t.expose('device', { type: Device, description: 'The reporter.' }),
      deployments: t.exposeInt('deployments', { description: 'Number of deployments that it reports.' }),
    }),
  },
})

async function deviceNow(context: Context, key: number): Promise<TargetNode> {
  return required(await (await context.reader()).target(key, null), 'device')
}
