/** A small model of desired state, with the rules of docs/wire.md and nothing of the code, and the steps that are played on both. */
import fc from 'fast-check'
import type { Convergence } from '../../../src/domain/desired.ts'
import type { DeploymentState } from '../../../src/domain/values.ts'
import type { ManifestUpdate } from '../../../src/ingest/commands/declared-documents.ts'
import { createBundle } from '../../../src/ingest/dialects/margo/bundle.ts'
import { digestOf } from '../../../src/platform/body/digest.ts'

export const bundle: ManifestUpdate['bundle'] = (documents) => {
  const bytes = createBundle(documents)
  return { digest: digestOf(bytes), size: bytes.length }
}
export const manifestUpdate: ManifestUpdate = { cause: { caller: 'operator', why: 'because' }, bundle }

const states: readonly DeploymentState[] = ['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED']

/** A device, and the device that reports for it; two are behind a gateway. */
export const places = [
  { device: 'solo', owner: 'solo' },
  { device: 'gw/one', owner: 'gw' },
  { device: 'gw/two', owner: 'gw' },
]
export const ids = ['x', 'y']

type Step =
  | { readonly do: 'declare'; readonly list: readonly { place: number; id: number; text: number }[] }
  | {
      readonly do: 'report'
      readonly place: number
      readonly id: number
      readonly state: DeploymentState
      readonly adopts: number | null
    }
  | { readonly do: 'late'; readonly back: number }
  | { readonly do: 'remove'; readonly nth: number }
  | { readonly do: 'forget'; readonly nth: number }
  | { readonly do: 'restart' }

const place = fc.nat(places.length - 1)
const id = fc.nat(ids.length - 1)
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('declare' as const),
      list: fc.uniqueArray(fc.record({ place, id, text: fc.nat(2) }), {
        minLength: 1,
        maxLength: 3,
        // The API requires it: one document for a deploymentId in one manifest.
        selector: (one) => `${places[one.place]?.owner} ${one.id}`,
      }),
    }),
  },
  {
    weight: 8,
    // How many versions the device is behind; null: it does not report a version.
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      place,
      id,
      state: fc.constantFrom(...states),
      adopts: fc.option(fc.nat(2), { freq: 5 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('late' as const), back: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), nth: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), nth: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
)

export interface Said {
  readonly owner: string
  readonly device: string
  readonly id: string
  readonly state: DeploymentState
  readonly adopted: number | null
  readonly seq: number
}

interface Modelled {
  state: DeploymentState
  adopted: number | null
  /** Of the newest report heard. */
  marks: { adopted: number | null; seq: number } | null
  target: number | null
  text: string | null
  forgotten: boolean
}

export function createModel() {
  const deployments = new Map<string, Modelled>()
  const manifests = new Map<
    string,
    { version: number; texts: Map<string, string>; past: Map<number, Map<string, string>> }
  >()
  const manifest = (owner: string) => {
    const known = manifests.get(owner) ?? { version: 1, texts: new Map(), past: new Map() }
    manifests.set(owner, known)
    return known
  }
  const change = (owner: string, texts: Map<string, string>): number => {
    const known = manifest(owner)
    known.texts = texts
    known.version += 1
    known.past.set(known.version, texts)
    return known.version
  }
  const born = (): Modelled => ({
    state: 'PENDING',
    adopted: null,
    marks: null,
    target: null,
    text: null,
    forgotten: false,
  })
  const present = (name: string): Modelled => {
    const known = deployments.get(name)
    const found = !known || known.forgotten ? born() : known
    deployments.set(name, found)
    return found
  }
  return {
    deployments,
    manifests,
    newest: (owner: string) => manifest(owner).version,
    declare(list: readonly { owner: string; id: string; text: string }[]) {
      for (const one of list) present(`${one.owner} ${one.id}`)
      for (const [owner, own] of Map.groupBy(list, (one) => one.owner)) {
        const news = own.filter((one) => manifest(owner).texts.get(one.id) !== one.text)
        if (news.length === 0) continue
        const texts = new Map(manifest(owner).texts)
        for (const one of news) texts.set(one.id, one.text)
        const target = change(owner, texts)
        for (const one of news) Object.assign(present(`${owner} ${one.id}`), { target, text: one.text })
      }
    },
    remove(name: string) {
      const [owner = '', id = ''] = name.split(' ')
      if (!manifest(owner).texts.has(id)) return
      const texts = new Map(manifest(owner).texts)
      texts.delete(id)
      Object.assign(present(name), { target: change(owner, texts), text: null })
    },
    report({ owner, id, state, adopted, seq }: Said) {
      const known = present(`${owner} ${id}`)
      const { marks } = known
      const older = (a: number | null, b: number | null): number => (a === null || b === null ? 0 : a - b)
      if (marks) {
        const byVersion = older(adopted, marks.adopted)
        if (byVersion < 0 || (byVersion === 0 && seq < marks.seq)) return
      }
      known.marks = { adopted: adopted ?? marks?.adopted ?? null, seq }
      known.state = state
      known.adopted = adopted ?? known.adopted
    },
    convergence({ target, adopted, state, text }: Modelled): Convergence {
      if (target === null || adopted === null) return 'UNKNOWN'
      if (adopted < target) return 'STALE'
      if (state === 'FAILED') return 'FAILED'
      if (text === null) return state === 'REMOVED' ? 'CONVERGED' : 'APPLYING'
      return state === 'INSTALLED' ? 'CONVERGED' : 'APPLYING'
    },
  }
}

export type Model = ReturnType<typeof createModel>
