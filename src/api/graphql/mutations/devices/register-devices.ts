import { type DeviceRegistration, registerDevices } from '../../../../ingest/commands/devices/register.ts'
import { newDeviceToken } from '../../../../ingest/device-token.ts'
import { eachPaced, type Paced, paced } from '../../../../platform/limits/pace.ts'
import { type PublicKey, readPublicKey } from '../../../auth/devices/public-key.ts'
import { problemOfSpiffeId } from '../../../auth/devices/spiffe.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { required } from '../../execution/required.ts'
import { LabelInput } from '../../objects/label.ts'
import { Device } from '../../objects/refs.ts'
import { checkLabels } from '../check-labels.ts'
import type { InputCheck } from '../input-check.ts'
import { addMutation } from '../mutation.ts'

const maxIdentities = 10

const DeviceInput = builder.inputType('DeviceInput', {
  description: 'A device to register. Absent fields keep their values.',
  fields: (t) => ({
    deviceId: t.string({
      required: true,
      description:
        'The device ID that its reports use: 1 to 256 characters, none of them a control character, without white space at an end.',
    }),
    name: t.string({ description: 'The display name.' }),
    labels: t.field({ type: [LabelInput], description: 'All labels. The list replaces the previous one.' }),
    parent: t.string({ description: 'The device ID of the gateway that it is behind.' }),
    expectedInterval: t.int({
      description: 'Seconds, at least 1. The device becomes OFFLINE if it sends nothing for longer.',
    }),
    publicKeys: t.stringList({
      description:
        'All public keys that verify its signed messages: PEM keys or certificates, at most 10. The list replaces the previous one.',
    }),
    spiffeIds: t.stringList({
      description: 'All SPIFFE IDs of its certificates, at most 10. The list replaces the previous one.',
    }),
  }),
})

interface RegisteredRow {
  readonly key: number
  readonly token: string | null
}

export const RegisteredDevice = builder.objectRef<RegisteredRow>('RegisteredDevice').implement({
  access: 'operator',
  description: 'A registered device and its token.',
  fields: (t) => ({
    // Read only if the operation asks for it: there may be 10,000.
    device: t.field({
      type: Device,
      description: 'The device.',
      resolve: async ({ key }, _, context) => required(await (await context.reader()).target(key, null), 'device'),
    }),
    token: t.exposeString('token', {
      nullable: true,
      description:
        'The token that authenticates the device. It is shown only once. Null: the device was already registered.',
    }),
  }),
})

addMutation('registerDevices', {
  access: 'operator of all',
  description:
    'Registers devices, all or none. Registering a device again updates the fields given and clears the order of its reports.',
  input: {
    description: 'The devices to register.',
    fields: (t) => ({
      devices: t.field({
        type: [DeviceInput],
        required: true,
        description: 'The devices, without duplicates. At most 10,000.',
      }),
    }),
  },
  errors: ['Conflict'],
  check: ({ devices }, check) => paced(checkDevices(devices, check)),
  act: (input, context, publicKeys) =>
    register(
      context,
      input.devices.map((device, index) => ({
        deviceId: device.deviceId,
        name: device.name ?? null,
        labels: device.labels ?? null,
        parent: device.parent ?? null,
        expectedInterval: device.expectedInterval ?? null,
        publicKeys: publicKeys[index] ?? null,
        spiffeIds: device.spiffeIds ?? null,
      })),
    ),
  success: {
    access: 'operator',
    description: 'All devices were registered.',
    fields: (t) => ({
      results: t.expose('results', {
        type: [RegisteredDevice],
        description: 'One result per device, in the order of the input.',
      }),
    }),
  },
})

/** Each device gets a new token, unless it has one. */
export async function register(
  context: Context,
  devices: readonly Omit<DeviceRegistration, 'tokenHash'>[],
): Promise<{ readonly results: readonly RegisteredRow[] }> {
  const tokens = await paced(eachPaced(devices, newDeviceToken))
  const registered = await context.write(
    registerDevices(devices.map((device, index) => ({ ...device, tokenHash: tokens[index]?.hash ?? '' }))),
  )
  return {
    results: registered.map(({ key, isNew }, index) => ({ key, token: isNew ? (tokens[index]?.text ?? null) : null })),
  }
}

type ProblemOf = (text: string) => string | null

/** Returns the public keys of each device, without duplicates. It pauses after each device: to read a key takes up to 0.1 ms. */
function* checkDevices(
  devices: readonly (typeof DeviceInput.$inferInput)[],
  check: InputCheck,
): Paced<readonly (readonly PublicKey[] | null)[]> {
  if (!check.list(['devices'], devices)) return []
  const read = yield* eachPaced(devices, (device, index) => {
    const { deviceId, name, labels, parent, expectedInterval, publicKeys, spiffeIds } = device
    const keys = new Map<string, PublicKey>()
    const at = ['devices', index]
    const identities = (field: string, list: readonly string[] | null | undefined, problemOf: ProblemOf): void => {
      if (list && list.length > maxIdentities) check.add([...at, field], `must have at most ${maxIdentities} elements`)
      else
        list?.forEach((text, one) => {
          const problem = problemOf(text)
          if (problem !== null) check.add([...at, field, one], problem)
        })
    }
    identities('publicKeys', publicKeys, (text) => {
      const key = readPublicKey(text)
      if (typeof key === 'string') return key
      keys.set(key.id, key)
      return null
    })
    identities('spiffeIds', spiffeIds, problemOfSpiffeId)
    check.deviceId([...at, 'deviceId'], deviceId)
    check.name([...at, 'name'], name)
    check.deviceId([...at, 'parent'], parent)
    if (typeof expectedInterval === 'number' && expectedInterval < 1)
      check.add([...at, 'expectedInterval'], 'must be at least 1 second')
    const made = publicKeys ? [...keys.values()] : null
    checkLabels(check, [...at, 'labels'], labels)
    return made
  })
  check.unique(
    devices.map((_, index) => ['devices', index, 'deviceId']),
    devices.map(({ deviceId }) => deviceId),
    'is a duplicate',
  )
  return read
}
