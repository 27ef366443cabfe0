/** The newest bundle of each trust domain on disk, for a start without the identity service. A file is a SPIFFE bundle, with the service that it is from. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { memberOf, readAnswer } from '../../../platform/outbound/json.ts'
import { type Bundle, readBundle } from './bundle.ts'

export interface KeptBundles {
  /** Null: there is none of this service. Rejects if there is a file that cannot be used. */
  read(trustDomain: string, service: string): Promise<Bundle | null>
  write(trustDomain: string, service: string, bundle: Bundle): Promise<void>
  pathOf(trustDomain: string): string
}

const limits = { most: 20_000, longestText: 64 << 10 }

export function createKeptBundles(directory: string): KeptBundles {
  // A trust domain has the characters of a host name.
  const pathOf = (trustDomain: string): string => join(directory, `${trustDomain}.json`)
  return {
    pathOf,
    async read(trustDomain, service) {
      const bytes = await readFile(pathOf(trustDomain)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null
        throw error
      })
      if (bytes === null) return null
      const kept = await readAnswer(bytes, limits)
      // Another service is not bound by what the former one has said.
      return memberOf(kept, 'service') === service ? readBundle(kept) : null
    },
    async write(trustDomain, service, { authorities, sequence }) {
      const keys = authorities.map(({ raw }) => ({ use: 'x509-svid', x5c: [raw.toString('base64')] }))
      const text = JSON.stringify({ service, ...(sequence !== null && { spiffe_sequence: sequence }), keys })
      const path = pathOf(trustDomain)
      // A process that writes there decides which devices are trusted.
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const draft = `${path}.${process.pid}`
      await writeFile(draft, text, { mode: 0o600, flush: true })
      await rename(draft, path)
    },
  }
}
