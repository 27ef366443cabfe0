import { expect, it } from 'vitest'
import { connectivityWord, toConnectivity } from '../../src/ingest/dialects/emco/vocabulary.ts'

it('says the connectivity of a cluster in the words of EMCO, and reads them', () => {
  const words = (['ONLINE', 'RETRYING', 'OFFLINE', 'UNKNOWN'] as const).map(connectivityWord)
  expect(words).toEqual(['Available', 'Retrying', 'Unknown', 'Unknown'])
  expect(words.slice(0, 2).map(toConnectivity)).toEqual(['ONLINE', 'RETRYING'])
})
