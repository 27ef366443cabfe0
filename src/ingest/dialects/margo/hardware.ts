/**
 * What a capabilities document says about the hardware. Generations differ in where it is: in `properties` or in `properties.resources`,
 * `cpu` or `cpus`. A value of another type than expected counts as absent: only the identity of a device was checked on receipt.
 */
import { isObject } from '../../../platform/body/problems.ts'

export interface Cpu {
  readonly architecture: string | null
  readonly cores: number | null
}

export interface Hardware {
  readonly cpus: readonly Cpu[]
  /** As sent. */
  readonly memory: string | null
  readonly storage: string | null
  readonly deploymentTypes: readonly string[]
}

export function readHardware(document: unknown): Hardware {
  const properties = objectAt(document, 'properties')
  const holders = [properties, objectAt(properties, 'resources')]
  const found = (names: readonly string[]): unknown =>
    holders
      .flatMap((holder) => names.map((name) => holder[name]))
      .find((value) => value !== undefined && value !== null)
  const cpus = found(['cpus', 'cpu'])
  const types = found(['supportedDeploymentTypes'])
  return {
    cpus: (Array.isArray(cpus) ? cpus : []).filter(isObject).map(({ architecture, cores }) => ({
      architecture: typeof architecture === 'string' ? architecture : null,
      cores: typeof cores === 'number' && Number.isFinite(cores) ? cores : null,
    })),
    memory: textOf(found(['memory'])),
    storage: textOf(found(['storage'])),
    deploymentTypes: (Array.isArray(types) ? types : []).filter((type) => typeof type === 'string'),
  }
}

/** Characters. */
const longestQuantity = 64

const powers = ['', 'k', 'm', 'g', 't', 'p', 'e']

/** The bytes of a quantity such as `8Gi`, `2000 GB` or `1024`. Null: it is not one. */
export function bytesOf(quantity: string | null): number | null {
  // The time of the expression grows with the square of the spaces.
  if (quantity === null || quantity.length > longestQuantity) return null
  const [, number = '', prefix = '', binary = ''] =
    /^\s*(\d{1,15}(?:\.\d{1,9})?)\s*([kmgtpe]?)(i?)b?\s*$/i.exec(quantity) ?? []
  if (number === '') return null
  return Math.round(Number(number) * (binary ? 1_024 : 1_000) ** powers.indexOf(prefix.toLowerCase()))
}

function objectAt(holder: unknown, name: string): Readonly<Record<string, unknown>> {
  const value = isObject(holder) ? holder[name] : null
  return isObject(value) ? value : {}
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null
}
